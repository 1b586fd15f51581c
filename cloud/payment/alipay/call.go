package alipay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const maxBody = 256 << 10

// failure is a signed answer that is not a success.
type failure struct {
	Code    string `json:"code"` // 40004: refused for the reason in SubCode
	Message string `json:"msg"`
	SubCode string `json:"sub_code"`
	SubMsg  string `json:"sub_msg"`
}

func (f *failure) Error() string {
	return fmt.Sprintf("alipay: answered %s %s %s: %s", f.Code, f.Message, f.SubCode, f.SubMsg)
}

const (
	codeSuccess = "10000"
	codeRefused = "40004"
)

// call sends a signed request for method, and reads the answer into out. A
// *failure is Alipay's refusal; any other error leaves the outcome unknown.
func (p *Provider) call(ctx context.Context, method, notifyURL string, in, out any) error {
	business, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	params := url.Values{
		"app_id": {p.cfg.AppID}, "method": {method}, "format": {"JSON"}, "charset": {"utf-8"}, "sign_type": {signType}, "version": {"1.0"},
		"timestamp": {p.cfg.Clock().In(shanghai()).Format(timeLayout)}, "biz_content": {string(business)},
	}
	if notifyURL != "" {
		params.Set("notify_url", notifyURL)
	}
	signature, err := sign(p.cfg.Key, content(params))
	if err != nil {
		return err
	}
	params.Set("sign", signature)
	// Without charset in the address the gateway answers in GBK.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.Gateway+"?charset=utf-8", strings.NewReader(params.Encode()))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	resp, err := p.cfg.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", method, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: answered %s", method, resp.Status)
	}
	if err := p.believe(method, answer, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// believe reads an answer. The signature is over the bytes of the object under
// "…_response", exactly as they came.
func (p *Provider) believe(method string, answer []byte, out any) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(answer, &parts); err != nil {
		return fmt.Errorf("alipay: the answer is unreadable: %w", err)
	}
	var signature string
	_ = json.Unmarshal(parts["sign"], &signature)
	name := strings.ReplaceAll(method, ".", "_") + "_response"
	raw := parts[name]
	if raw == nil || signature == "" { // requests that the gateway itself refuses are answered unsigned
		f := new(failure)
		for _, name := range []string{name, "error_response"} {
			_ = json.Unmarshal(parts[name], f)
		}
		return fmt.Errorf("alipay: an answer without signature (%s %s %s); outcome unknown", f.Code, f.SubCode, f.SubMsg)
	}
	if err := verify(p.cfg.Alipay, raw, signature); err != nil {
		return fmt.Errorf("alipay: an answer that is not Alipay's: %w", err)
	}
	f := new(failure)
	if err := json.Unmarshal(raw, f); err != nil {
		return fmt.Errorf("alipay: the answer is unreadable: %w", err)
	}
	switch f.Code {
	case codeSuccess:
	case codeRefused:
		return f
	default:
		return fmt.Errorf("alipay: outcome unknown: %s", f.Error())
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("alipay: the answer is unreadable: %w", err)
	}
	return nil
}

// subCode is why Alipay refused, empty when it did not.
func subCode(err error) string {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f.SubCode
	}
	return ""
}
