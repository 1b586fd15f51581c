package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"vendline/cloud/payment"
)

const apiPath = "/api"

// call asks the server, and believes only an answer signed for this very
// request. Errors other than ErrPaid and ErrRefused leave the outcome unknown.
func (p *Provider) call(ctx context.Context, r request) (reply, error) {
	r.Merchant = p.cfg.Merchant
	body, err := json.Marshal(r)
	if err != nil {
		return reply{}, fmt.Errorf("sandbox: %s: %w", r.Op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.cfg.BaseURL, "/")+apiPath, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("sandbox: %s: %w", r.Op, err)
	}
	nonce := p.cfg.Nonce()
	req.Header.Set("Content-Type", "application/json")
	seal(req.Header, p.cfg.Secret, nonce, p.cfg.Clock(), body)
	resp, err := p.cfg.HTTP.Do(req)
	if err != nil {
		return reply{}, fmt.Errorf("sandbox: %s: %w", r.Op, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return reply{}, fmt.Errorf("sandbox: %s: read the answer: %w", r.Op, err)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return reply{}, fmt.Errorf("sandbox: %s: the server answered %s", r.Op, resp.Status)
	}
	return p.believe(r.Op, nonce, resp, answer)
}

func (p *Provider) believe(op, nonce string, resp *http.Response, answer []byte) (reply, error) {
	signed, err := unseal(resp.Header, p.cfg.Secret, p.cfg.Clock(), answer)
	if err != nil || signed != nonce {
		return reply{}, fmt.Errorf("sandbox: %s: an answer (%s) that is not signed for this request; do both sides have the same secret and time?", op, resp.Status)
	}
	var got reply
	if err := read(answer, &got); err != nil {
		return reply{}, fmt.Errorf("sandbox: %s: the answer is unreadable: %w", op, err)
	}
	switch got.Code {
	case codeDone:
		return got, nil
	case codePaid:
		return got, payment.ErrPaid
	case codeRefused:
		return got, fmt.Errorf("%w: sandbox: %s: %s", payment.ErrRefused, op, got.Message)
	}
	return got, fmt.Errorf("sandbox: %s: the server answered %s: %s", op, got.Code, got.Message)
}
