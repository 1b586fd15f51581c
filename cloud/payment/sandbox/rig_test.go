package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/paymenttest"
	"vendline/cloud/payment/sandbox"
	"vendline/shared/money"
)

const (
	secret   = "a secret of some length"
	merchant = "M100"
	tradeNo  = "01900000000070008000000000000001"
)

// rig is both sides under one clock, and the cloud that hears callbacks.
type rig struct {
	*sandbox.Provider
	server *sandbox.Server
	clock  *paymenttest.Clock
	cloud  *cloud
	file   string
}

func open(t *testing.T) *rig { return openFile(t, "") }

func openFile(t *testing.T, file string) *rig {
	t.Helper()
	r := &rig{clock: paymenttest.NewClock(), cloud: new(cloud), file: file}
	var mu sync.Mutex
	n := 0
	nonce := func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("nonce-%d", n)
	}
	var err error
	r.server, err = sandbox.NewServer(sandbox.Options{
		PublicURL: "http://sandbox.example", Secret: secret, Merchant: merchant, File: file,
		HTTP: &http.Client{Transport: r.cloud}, Clock: r.clock.Now, After: r.after, Nonce: nonce,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
	r.Provider, err = sandbox.New(sandbox.Config{
		BaseURL: "http://in.process", Secret: secret, Merchant: merchant, HTTP: r.server.Client(), Clock: r.clock.Now, Nonce: nonce,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.cloud.provider, r.cloud.clock = r.Provider, r.clock
	return r
}

// after passes the time instead of waiting for it.
func (r *rig) after(d time.Duration) <-chan time.Time {
	r.clock.Pass(d)
	now := make(chan time.Time, 1)
	now <- r.clock.Now()
	return now
}

func (r *rig) charge(minor int64) payment.Charge {
	return payment.Charge{
		TradeNo: tradeNo, Amount: money.Money{Minor: minor, Currency: "CNY"}, Description: "Vendline C001",
		ExpiresAt: r.clock.Now().Add(15 * time.Minute), NotifyURL: "http://cloud.example/v1/payments/sandbox/notify",
	}
}

func (r *rig) paid(t *testing.T, minor int64) payment.Charge {
	t.Helper()
	c := r.charge(minor)
	if _, err := r.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Pay(c.TradeNo); err != nil {
		t.Fatal(err)
	}
	return c
}

// cloud hears callbacks and verifies them as the real one does.
type cloud struct {
	provider *sandbox.Provider
	clock    *paymenttest.Clock

	mu    sync.Mutex
	deaf  int // callbacks still to be refused; below 0 for all
	heard []payment.Notice
	bad   []error
	at    []time.Time
}

func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := read(r, c.clock.Now())
	if err != nil {
		return nil, err
	}
	got, err := c.provider.Verify(n)
	if err != nil {
		c.bad = append(c.bad, err)
	} else {
		c.heard = append(c.heard, got)
	}
	c.at = append(c.at, c.clock.Now())
	status := http.StatusOK
	if c.deaf != 0 {
		c.deaf--
		status = http.StatusServiceUnavailable
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func read(r *http.Request, at time.Time) (payment.Notification, error) {
	body, err := io.ReadAll(r.Body)
	return payment.Notification{Header: r.Header, Body: body, At: at}, err
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }
