package wechat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// failure is an answer that is not 2xx.
type failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string {
	return fmt.Sprintf("wechat: answered %d %s: %s", f.Status, f.Code, f.Message)
}

// call sends a signed request and reads the answer into out, which is nil for
// an answer without a body. A *failure is WeChat's refusal; any other error
// leaves the outcome unknown.
func (p *Provider) call(ctx context.Context, method, target string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("wechat: %w", err)
		}
	}
	authorization, err := p.authorization(method, target, body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.cfg.BaseURL+target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("wechat: %w", err)
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "vendline")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.cfg.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("wechat: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("wechat: read the answer: %w", err)
	}
	return p.believe(resp, answer, out)
}

// believe reads an answer. WeChat does not sign every refusal; one that claims
// to be signed must be, and a success always.
func (p *Provider) believe(resp *http.Response, answer []byte, out any) error {
	success := resp.StatusCode >= 200 && resp.StatusCode <= 299
	if success || resp.Header.Get(headerSignature) != "" {
		if err := p.verify(resp.Header, answer, p.cfg.Clock()); err != nil {
			return fmt.Errorf("wechat: an answer (%s) that is not WeChat's: %v", resp.Status, err) // not ErrUnsigned: that is of callbacks
		}
	}
	if !success {
		f := &failure{Status: resp.StatusCode}
		if err := json.Unmarshal(answer, f); err != nil || resp.StatusCode >= 500 {
			return fmt.Errorf("wechat: answered %s %s", resp.Status, f.Code)
		}
		return f
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("wechat: the answer is unreadable: %w", err)
	}
	return nil
}

// inTrade is the path of a charge.
func inTrade(tradeNo string) string {
	return "/v3/pay/transactions/out-trade-no/" + url.PathEscape(tradeNo)
}
