package drill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
)

// Till is the payment provider and the shoppers' thumbs: it takes money for
// charges that vend-cloud opened, and calls back until it is heard. It lives in
// the drill's own process, so that what it was paid is known whatever is killed.
type Till struct {
	URL    string
	Secret string // a file

	server *sandbox.Server
	http   *http.Server
	book   *Book
	call   *caller
	stop   context.CancelFunc
	wg     sync.WaitGroup
	end    context.CancelFunc
	run    sync.WaitGroup
}

// tillMerchant is whose charges they are, on both sides.
const tillMerchant = "drill"

// OpenTill listens on loopback. dir is where the secret's file goes. Close must
// be called.
func OpenTill(ctx context.Context, dir string, book *Book) (*Till, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("till: %w", err)
	}
	t := &Till{URL: "http://" + l.Addr().String(), Secret: filepath.Join(dir, "till-secret"), book: book, call: newCaller()}
	secret := rand.Text()
	if err := os.WriteFile(t.Secret, []byte(secret), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("till: %w", err), l.Close())
	}
	// Callbacks come again after a second and not after the provider's fifteen.
	soon := func(d time.Duration) <-chan time.Time { return time.After(min(d, time.Second)) }
	if t.server, err = sandbox.NewServer(sandbox.Options{PublicURL: t.URL, Secret: secret, Merchant: tillMerchant, After: soon}); err != nil {
		return nil, errors.Join(fmt.Errorf("till: %w", err), l.Close())
	}
	t.http = &http.Server{Handler: t.server, ReadHeaderTimeout: 10 * time.Second}
	running, end := context.WithCancel(context.Background())
	t.end = end
	t.run.Go(func() { _ = t.http.Serve(l) })       // ends with Close
	t.run.Go(func() { _ = t.server.Run(running) }) // likewise
	return t, nil
}

// Flags are what vend-cloud needs to be paid here.
func (t *Till) Flags() []string {
	return []string{"--pay-sandbox-url", t.URL, "--pay-sandbox-secret-file", t.Secret, "--pay-sandbox-merchant", tillMerchant}
}

// Work pays recent orders until Rest is called.
func (t *Till) Work(plan Plan, cloud string, perSecond float64) {
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	pace := rate.NewLimiter(rate.Limit(perSecond), 1)
	for n := range uint64(4) {
		r := plan.Rand(4000 + n)
		t.wg.Go(func() {
			for pace.Wait(ctx) == nil {
				e, ok := t.book.Recent(r, 40)
				if !ok {
					continue
				}
				a := t.call.insist(ctx, r, cloud+"/v1/orders/"+e.ID+"/payments", "", []byte(`{"provider":"sandbox"}`))
				if a.outcome == Yes && t.server.Pay(payment.TradeNo(e.ID)) == nil {
					t.book.Paid(e.ID) // from now on the money has to show
				}
			}
		})
	}
}

// Refunded is what went back of an order's money.
func (t *Till) Refunded(order string) int64 { return t.server.Refunded(payment.TradeNo(order)) }

// Rest stops paying.
func (t *Till) Rest() {
	if t.stop != nil {
		t.stop()
		t.wg.Wait()
		t.stop = nil
	}
}

// Close rests, and gives back the address.
func (t *Till) Close() {
	t.Rest()
	t.end()
	_ = t.http.Close()
	t.run.Wait()
	t.call.close()
}
