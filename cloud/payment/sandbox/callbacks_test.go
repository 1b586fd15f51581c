package sandbox_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/paymenttest"
	"vendline/cloud/payment/sandbox"
)

// deliverAll sends callbacks until none is owed, letting the time pass between.
func (r *rig) deliverAll(ctx context.Context) {
	for range 100 {
		wait := r.server.Deliver(ctx)
		if wait == 0 {
			return
		}
		r.clock.Pass(wait)
	}
}

func TestACallbackIsRepeatedUntilItIsHeard(t *testing.T) {
	r := open(t)
	r.cloud.deaf = 4
	began := r.clock.Now()
	r.paid(t, 350)
	r.deliverAll(t.Context())
	want := []time.Duration{0, 15 * time.Second, 30 * time.Second, time.Minute, 4 * time.Minute}
	var got []time.Duration
	for _, at := range r.cloud.at {
		got = append(got, at.Sub(began))
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent after %v, want %v", got, want)
	}
	ids := map[string]bool{}
	for _, n := range r.cloud.heard {
		ids[n.ID] = true
	}
	if len(ids) != len(want) || len(r.cloud.bad) != 0 {
		t.Errorf("%d fresh IDs, refused: %v", len(ids), r.cloud.bad)
	}
}

func TestACallbackNobodyHearsIsGivenUp(t *testing.T) {
	r := open(t)
	r.cloud.deaf = -1
	began := r.clock.Now()
	r.paid(t, 350)
	r.deliverAll(t.Context())
	if n, last := len(r.cloud.at), r.cloud.at[len(r.cloud.at)-1].Sub(began); n != 16 || last != 24*time.Hour+4*time.Minute {
		t.Errorf("sent %d times, the last after %v", n, last)
	}
	if got, err := r.Query(t.Context(), tradeNo); err != nil || got.State != payment.Paid {
		t.Errorf("the query says %+v, %v", got, err)
	}
}

// A copy of the file, taken at any moment, is what kill -9 leaves.
func TestAKilledServerKnowsWhatItOwes(t *testing.T) {
	r := openFile(t, filepath.Join(t.TempDir(), "charges.db"))
	r.cloud.deaf = -1
	c := r.paid(t, 350)
	r.server.Deliver(t.Context())
	if err := r.refundOf(c, "r"); err != nil {
		t.Fatal(err)
	}
	r = openFile(t, copied(t, r))
	if got, err := r.Query(t.Context(), tradeNo); err != nil || got.State != payment.Paid || r.server.Refunded(tradeNo) != 10 {
		t.Errorf("the next one knows %+v, %v, %d given back", got, err, r.server.Refunded(tradeNo))
	}
	if err := r.refundOf(c, "r"); err != nil || r.server.Refunded(tradeNo) != 10 {
		t.Errorf("the refund again: %v, %d given back", err, r.server.Refunded(tradeNo))
	}
	r.clock.Pass(15 * time.Second)
	r.deliverAll(t.Context())
	if len(r.cloud.heard) != 1 {
		t.Errorf("it sent %d callbacks", len(r.cloud.heard))
	}
	r = openFile(t, copied(t, r))
	if r.deliverAll(t.Context()); len(r.cloud.heard) != 0 {
		t.Errorf("a callback that was heard is sent again")
	}
}

func copied(t *testing.T, r *rig) string {
	t.Helper()
	b, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunSendsWhatIsDueWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hears := &cloud{clock: new(paymenttest.Clock), deaf: 2}
		server, err := sandbox.NewServer(sandbox.Options{
			PublicURL: "http://sandbox.example", Secret: secret, Merchant: merchant, HTTP: &http.Client{Transport: hears},
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Secret: secret, Merchant: merchant, HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		hears.provider = p
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- server.Run(ctx) }()
		r := &rig{Provider: p, server: server, clock: paymenttest.NewClock()}
		r.clock.Pass(time.Since(r.clock.Now())) // charges of now
		for i, minor := range []int64{350, 392} {
			c := r.charge(minor)
			c.TradeNo = c.TradeNo[:31] + string(rune('a'+i))
			if _, err := p.Create(ctx, c); err != nil {
				t.Fatal(err)
			}
			if err := server.Pay(c.TradeNo); err != nil {
				t.Fatal(err)
			}
		}
		count := func() int {
			synctest.Wait()
			hears.mu.Lock()
			defer hears.mu.Unlock()
			return len(hears.at)
		}
		for _, step := range []struct {
			after time.Duration
			sent  int
		}{{0, 1}, {14 * time.Second, 1}, {2 * time.Second, 2}, {10 * time.Second, 2}, {10 * time.Second, 4}, {24 * time.Hour, 4}} {
			time.Sleep(step.after)
			if n := count(); n != step.sent {
				t.Errorf("%d sent %v later, want %d", n, step.after, step.sent)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
