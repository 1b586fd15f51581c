package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"vendline/cloud/payment"
)

// schedule is how long the server waits before each attempt at a callback: the
// pauses that real providers publish.
func schedule() []time.Duration {
	return []time.Duration{
		0, 15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute, 20 * time.Minute,
		30 * time.Minute, 30 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 6 * time.Hour, 6 * time.Hour,
	}
}

// Run sends callbacks when they are due, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var flights sync.WaitGroup
	defer flights.Wait()
	for {
		due, wait := s.due()
		for _, tradeNo := range due {
			flights.Go(func() { s.notify(ctx, tradeNo) })
		}
		var alarm <-chan time.Time
		if wait > 0 {
			alarm = s.opt.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-alarm:
		}
	}
}

// Deliver sends the callbacks that are due now, waits for their answers, and
// returns how long until the next is due, 0 when none is. It is Run for those
// who own the clock.
func (s *Server) Deliver(ctx context.Context) time.Duration {
	due, _ := s.due()
	var flights sync.WaitGroup
	for _, tradeNo := range due {
		flights.Go(func() { s.notify(ctx, tradeNo) })
	}
	flights.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.untilNext(s.opt.Clock())
}

// due takes the charges whose callback is due, and tells how long until the next.
func (s *Server) due() (tradeNos []string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opt.Clock()
	for tradeNo, flying := range s.owed {
		if !flying && !s.charges[tradeNo].Due.After(now) {
			s.owed[tradeNo] = true
			tradeNos = append(tradeNos, tradeNo)
		}
	}
	return tradeNos, s.untilNext(now)
}

// untilNext needs s.mu.
func (s *Server) untilNext(now time.Time) (wait time.Duration) {
	for tradeNo, flying := range s.owed {
		if left := max(s.charges[tradeNo].Due.Sub(now), 1); !flying && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// notify sends one charge's callback, and keeps what came of it.
func (s *Server) notify(ctx context.Context, tradeNo string) {
	c, _ := s.find(tradeNo)
	heard := s.send(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed[tradeNo] = false
	if ctx.Err() != nil && !heard {
		return // we are stopping: the next server on the file sends it
	}
	c = s.charges[tradeNo].clone()
	pauses := schedule()
	c.Tried++
	c.Due = time.Time{}
	if !heard && c.Tried < len(pauses) {
		c.Due = s.opt.Clock().Add(pauses[c.Tried])
	}
	if err := s.keep(c); err != nil {
		s.opt.Log.Error("callback not booked", "trade_no", tradeNo, "error", err)
	}
}

// send reports whether the other side kept it.
func (s *Server) send(ctx context.Context, c *charge) (heard bool) {
	copies := ruleOf(c.Amount).copies()
	kept := make(chan bool, copies)
	for range copies {
		go func() {
			s.slots <- struct{}{}
			defer func() { <-s.slots }()
			err := s.post(ctx, c)
			if err != nil {
				s.opt.Log.Warn("callback not heard", "trade_no", c.TradeNo, "tried", c.Tried+1, "error", err)
			}
			kept <- err == nil
		}()
	}
	for range copies {
		heard = <-kept || heard
	}
	return heard
}

func (s *Server) post(ctx context.Context, c *charge) error {
	n, err := s.callback(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.NotifyURL, bytes.NewReader(n.Body))
	if err != nil {
		return err
	}
	req.Header = n.Header
	resp, err := s.opt.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}

// Callback is the callback of a paid charge as it would be sent now, with a
// fresh nonce: for tests, and for drills that send it themselves.
func (s *Server) Callback(tradeNo string) (payment.Notification, error) {
	c, _ := s.find(tradeNo)
	if c.State != payment.Paid {
		return payment.Notification{}, fmt.Errorf("sandbox: charge %s is not paid", tradeNo)
	}
	return s.callback(c)
}

func (s *Server) callback(c *charge) (payment.Notification, error) {
	said := ruleOf(c.Amount).said(c.Amount)
	body, err := json.Marshal(event{
		Event: eventPaid, Merchant: s.opt.Merchant, TradeNo: c.TradeNo,
		Amount: said.Minor, Currency: said.Currency, Ref: c.Ref, PaidAt: seconds(c.PaidAt),
	})
	if err != nil {
		return payment.Notification{}, err
	}
	n := payment.Notification{Header: http.Header{"Content-Type": {"application/json"}}, Body: body, At: s.opt.Clock()}
	seal(n.Header, s.opt.Secret, s.opt.Nonce(), n.At, body)
	return n, nil
}
