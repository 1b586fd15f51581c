package sandbox

import (
	"fmt"
	"net/http"

	"vendline/cloud/payment"
)

// Verify checks a callback and reads it. It does no I/O, so a copy that comes
// within the five minutes verifies again: its ID, the nonce, is fresh for every
// attempt of the server, and whoever keeps the IDs refuses one seen before.
func (p *Provider) Verify(n payment.Notification) (payment.Notice, error) {
	nonce, err := unseal(n.Header, p.cfg.Secret, n.At, n.Body)
	if err != nil {
		return payment.Notice{}, err
	}
	var e event
	if err := read(n.Body, &e); err != nil {
		return payment.Notice{}, fmt.Errorf("sandbox: the callback is unreadable: %w", err)
	}
	charged, err := e.charged()
	if err != nil {
		return payment.Notice{}, err
	}
	if e.Merchant != p.cfg.Merchant {
		return payment.Notice{}, unsigned("it is for merchant %.40q, and we are %q", e.Merchant, p.cfg.Merchant)
	}
	return payment.Notice{ID: nonce, TradeNo: e.TradeNo, Charged: charged}, nil
}

// Answer is 200 for kept, 503 for not.
func (p *Provider) Answer(kept bool) payment.Answer {
	if kept {
		return payment.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte("kept\n")}
	}
	return payment.Answer{Status: http.StatusServiceUnavailable, ContentType: "text/plain; charset=utf-8", Body: []byte("not kept, come again\n")}
}
