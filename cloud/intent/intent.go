// Package intent places orders that were taken in without an answer: the
// peak-shaving way into the path. The intent's own transaction writes the outbox
// row that names it; this is the row's runner.
package intent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// Orders places pending orders; *order.Service does.
type Orders interface {
	// Admit places a pending order. order.ErrExists or a *order.StateError: it is
	// decided already. A *order.Refusal with a code that is not retryable is final.
	// Any other error: the outcome is unknown, and it may be called again.
	Admit(ctx context.Context, o order.Order) error
}

// Ledger is what the runner needs of it.
type Ledger interface {
	// Pending returns those of orders that still wait to be placed.
	Pending(ctx context.Context, ids ...string) ([]order.Order, error)
	// Refuse ends a pending order; one that is decided is a *order.StateError.
	Refuse(ctx context.Context, r *order.Refused) error
	Delete(ctx context.Context, ids ...string) error
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Runner is the carrier of intent rows.
type Runner struct {
	Orders Orders
	Ledger Ledger
	Clock  func() time.Time
	Most   int // orders being placed at once; 0 means 512

	Counters Counters

	once sync.Once
	room chan struct{}
}

// attemptTimeout bounds one attempt to place one order, rebuild of its cabinet
// included.
const attemptTimeout = 15 * time.Second

// Carry decides the orders that each row names, all at once, then removes the
// row. Every order is placed or refused under its own id and version, so nothing
// is lost or done twice wherever the process dies:
//
//   - before anything: the row is claimed when its lease is over;
//   - after stock was taken, before the transition: the next attempt finds the
//     marker and goes on with it; if it refuses instead, that gives the stock back;
//   - after the transition, before the row is removed: the next attempt finds
//     nothing pending, and removes it.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	r.once.Do(func() {
		if r.Most <= 0 {
			r.Most = 512
		}
		r.room = make(chan struct{}, r.Most)
	})
	done := make(chan error, len(rows))
	for _, row := range rows {
		go func() { done <- r.carry(ctx, row) }()
	}
	var failed error
	for range rows {
		if err := <-done; err != nil {
			failed = err
		}
	}
	return failed
}

func (r *Runner) carry(ctx context.Context, row outbox.Row) error {
	var what outbox.Intents
	if err := json.Unmarshal(row.Payload, &what); err != nil {
		if err := r.Ledger.Bury(ctx, "intent", err.Error(), row.Payload, map[string]string{"row": row.ID}); err != nil {
			return err
		}
		return r.Ledger.Delete(ctx, row.ID)
	}
	pending, err := r.Ledger.Pending(ctx, what.IDs...)
	if err != nil {
		return err
	}
	decided := make(chan error, len(pending))
	for _, o := range pending {
		select {
		case r.room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		go func() {
			defer func() { <-r.room }()
			decided <- r.decide(ctx, o)
		}()
	}
	var failed error
	for range pending {
		if err := <-decided; err != nil {
			failed = err
		}
	}
	if failed != nil {
		return fmt.Errorf("intent: row %s: %w", row.ID, failed)
	}
	return r.Ledger.Delete(ctx, row.ID)
}

// decide places an order, or refuses it. An error says that it is pending still.
func (r *Runner) decide(ctx context.Context, o order.Order) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if r.impatient(o) {
		return r.refuse(ctx, o, wire.CodeOverloaded, "it could not be decided in time; order again under a new id or key")
	}
	err := r.Orders.Admit(ctx, o)
	var state *order.StateError
	var refused *order.Refusal
	switch {
	case err == nil:
		r.Counters.count(wire.Accepted)
		return nil
	case errors.Is(err, order.ErrExists), errors.As(err, &state):
		return r.settled(ctx, o)
	case errors.As(err, &refused) && !refused.Code.Retryable():
		return r.refuse(ctx, o, refused.Code, refused.Detail)
	default:
		return fmt.Errorf("order %s: %w", o.ID, err)
	}
}

// settled makes sure of what Admit says: that somebody else decided the order.
// One whose marker says released, and which is pending all the same, can not be
// placed any more.
func (r *Runner) settled(ctx context.Context, o order.Order) error {
	pending, err := r.Ledger.Pending(ctx, o.ID)
	if err != nil || len(pending) == 0 {
		return err
	}
	return r.refuse(ctx, o, wire.CodeOrderReleased, "the attempt was given back; order again under a new id or key")
}

func (r *Runner) impatient(o order.Order) bool {
	return o.Intent != nil && !r.Clock().Before(o.Intent.DecideBy)
}

// refuse ends an order for good; see order.Intents.
func (r *Runner) refuse(ctx context.Context, o order.Order, code wire.Code, detail string) error {
	err := r.Ledger.Refuse(ctx, &order.Refused{ID: o.ID, Code: code, Detail: detail})
	var state *order.StateError
	switch {
	case err == nil:
		r.Counters.count(code)
	case errors.As(err, &state), errors.Is(err, order.ErrUnknown):
		return nil // decided meanwhile
	}
	return err
}
