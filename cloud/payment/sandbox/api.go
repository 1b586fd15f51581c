package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// serveAPI answers the provider. Only a request that is signed is read, and
// every answer but a 5xx is signed under the request's nonce.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request is too large, or broke off", http.StatusBadRequest)
		return
	}
	nonce, err := unseal(r.Header, s.opt.Secret, s.opt.Clock(), body)
	if err != nil {
		s.opt.Log.Warn("request refused", "error", err)
		http.Error(w, "the request is not signed with the server's secret, or its clock is off", http.StatusUnauthorized)
		return
	}
	var req request
	if err := read(body, &req); err != nil {
		s.answer(w, http.StatusBadRequest, nonce, reply{Code: codeRefused, Message: err.Error()})
		return
	}
	got, err := s.carryOut(r, req)
	switch {
	case err == nil:
		got.Code = codeDone
		s.answer(w, http.StatusOK, nonce, got)
	case errors.Is(err, payment.ErrPaid):
		s.answer(w, http.StatusConflict, nonce, reply{Code: codePaid, Message: err.Error()})
	case errors.Is(err, payment.ErrRefused):
		s.answer(w, http.StatusUnprocessableEntity, nonce, reply{Code: codeRefused, Message: err.Error()})
	case errors.Is(err, errSilence):
		http.Error(w, "no answer in time", http.StatusGatewayTimeout)
	default:
		s.opt.Log.Error("request failed", "op", req.Op, "trade_no", req.TradeNo, "error", err)
		http.Error(w, "something went wrong; the outcome is unknown", http.StatusInternalServerError)
	}
}

func (s *Server) answer(w http.ResponseWriter, status int, nonce string, r reply) {
	body, err := json.Marshal(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	seal(w.Header(), s.opt.Secret, nonce, s.opt.Clock(), body)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

var (
	errStumble = errors.New("sandbox: this amount asks for an answer of 500")
	errSilence = errors.New("sandbox: this amount asks for no answer")
)

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", payment.ErrRefused, fmt.Sprintf(format, args...))
}

func (s *Server) carryOut(r *http.Request, req request) (reply, error) {
	if req.Merchant != s.opt.Merchant {
		return reply{}, refuse("merchant %.40q is not known here, %q is", req.Merchant, s.opt.Merchant)
	}
	if !validToken(req.TradeNo) {
		return reply{}, refuse("%.70q can not be a trade number", req.TradeNo)
	}
	switch req.Op {
	case opCreate:
		return s.create(req)
	case opQuery:
		return s.query(r, req)
	case opClose:
		return reply{}, s.closeCharge(r, req)
	case opRefund:
		return reply{}, s.refund(req)
	}
	return reply{}, refuse("%.40q is not an operation", req.Op)
}

func (s *Server) create(req request) (reply, error) {
	c, err := newCharge(req)
	if err != nil {
		return reply{}, refuse("%v", err)
	}
	left := 0
	if ruleOf(c.Amount) == createStumbles {
		left = s.stumble(opCreate+c.TradeNo, createFails)
	}
	if left > 1 {
		return reply{}, errStumble
	}
	if err := s.createOnce(c); err != nil {
		return reply{}, err
	}
	if left == 1 {
		return reply{}, errStumble
	}
	return reply{URL: s.pageOf(c.TradeNo)}, nil
}

// pageOf is where a shopper pays a charge.
func (s *Server) pageOf(tradeNo string) string {
	return strings.TrimSuffix(s.opt.PublicURL, "/") + "/pay/" + tradeNo
}

func (s *Server) createOnce(c *charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.charges[c.TradeNo]
	if !ok {
		return s.keep(c)
	}
	switch {
	case !before.sameAs(c):
		return refuse("charge %s was created with another content", c.TradeNo)
	case before.State == payment.Paid:
		return payment.ErrPaid
	case before.stateAt(s.opt.Clock()) == payment.Closed:
		return refuse("charge %s is closed", c.TradeNo)
	}
	return nil
}

func (s *Server) query(r *http.Request, req request) (reply, error) {
	c, ok := s.find(req.TradeNo)
	if !ok {
		return reply{State: string(payment.NotFound)}, nil
	}
	if err := s.silent(r, c); err != nil {
		return reply{}, err
	}
	return reply{
		State: string(c.stateAt(s.opt.Clock())), Amount: c.Amount.Minor, Currency: c.Amount.Currency,
		Merchant: s.opt.Merchant, Ref: c.Ref, PaidAt: seconds(c.PaidAt),
	}, nil
}

func (s *Server) closeCharge(r *http.Request, req request) error {
	c, ok := s.find(req.TradeNo)
	if !ok {
		return nil
	}
	if err := s.silent(r, c); err != nil {
		return err
	}
	return s.change(req.TradeNo, (*charge).close)
}

// silent waits for longer than a client should, when the amount asks for it.
func (s *Server) silent(r *http.Request, c *charge) error {
	if rule := ruleOf(c.Amount); rule != silence && rule != comeLate {
		return nil
	}
	select {
	case <-s.opt.After(silenceFor):
	case <-r.Context().Done():
	}
	return errSilence
}

func (s *Server) refund(req request) error {
	c, ok := s.find(req.TradeNo)
	if !ok {
		return refuse("charge %s is not known here", req.TradeNo)
	}
	if req.RefundID == "" || len(req.RefundID) > 128 {
		return refuse("a refund needs an ID of 1 to 128 bytes")
	}
	left := 0
	switch ruleOf(c.Amount) {
	case refundRefused:
		return refuse("this amount asks for a refusal")
	case refundStumbles:
		left = s.stumble(opRefund+req.TradeNo+"/"+req.RefundID, refundFails)
	}
	if left > 1 {
		return errStumble
	}
	err := s.change(req.TradeNo, func(c *charge) error {
		if err := c.refund(req.RefundID, money.Money{Minor: req.Amount, Currency: req.Currency}); err != nil {
			return refuse("%v", err)
		}
		return nil
	})
	if err == nil && left == 1 {
		return errStumble
	}
	return err
}

// stumble counts one request more under key and returns how many failures are
// left of those it shall see, this one included. The count is in memory alone.
func (s *Server) stumble(key string, of int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := of - s.failed[key]
	if left > 0 {
		s.failed[key]++
	}
	return left
}
