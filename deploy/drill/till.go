package drill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
)

// Till books payments, as a second process of the cloud would: until payment
// providers are connected there is no address to notify. Its outbox rows are
// carried out by vend-cloud once their lease is over, which also keeps that
// path busy.
type Till struct {
	ledger *ledger.Ledger
	orders *order.Service
	book   *Book
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// OpenTill connects to the database. Close must be called.
func OpenTill(ctx context.Context, dsn string, hold time.Duration, book *Book) (*Till, error) {
	l, err := ledger.Open(ctx, ledger.MySQL(), dsn, ledger.Options{Clock: time.Now, ID: app.NewID, Token: app.NewToken, Hold: hold})
	if err != nil {
		return nil, fmt.Errorf("till: %w", err)
	}
	return &Till{ledger: l, orders: &order.Service{Ledger: l}, book: book}, nil
}

// Work books payments for recent orders until Rest is called.
func (t *Till) Work(plan Plan, perSecond float64) {
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	pace := rate.NewLimiter(rate.Limit(perSecond), 1)
	for n := range uint64(4) {
		r := plan.Rand(4000 + n)
		t.wg.Go(func() {
			for pace.Wait(ctx) == nil {
				if e, ok := t.book.Recent(r, 40); ok {
					t.pay(ctx, e.ID)
				}
			}
		})
	}
}

// pay insists until the order is paid or it is certain that it cannot be.
func (t *Till) pay(ctx context.Context, id string) {
	for ctx.Err() == nil {
		_, err := t.orders.Pay(ctx, id)
		var refused *order.StateError
		switch {
		case err == nil:
			t.book.Paid(id)
			return
		case errors.As(err, &refused), errors.Is(err, order.ErrUnknown):
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Rest stops booking. A payment under way then stays unheard of.
func (t *Till) Rest() {
	if t.stop != nil {
		t.stop()
		t.wg.Wait()
		t.stop = nil
	}
}

// Close rests and disconnects.
func (t *Till) Close() {
	t.Rest()
	t.ledger.Close()
}
