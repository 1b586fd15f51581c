// Package replace gives back holds that their shopper's next order has taken
// the place of. The order's transaction names them in an outbox row; this is the
// row's runner.
package replace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// Orders ends holds.
type Orders interface {
	// Replace rolls a hold back. An order that is rolled back already is no
	// error; one that has been paid is a *order.StateError, and stands.
	Replace(ctx context.Context, id string) (order.Order, error)
}

// Ledger removes rows that are carried out, and keeps what cannot be read.
type Ledger interface {
	Delete(ctx context.Context, ids ...string) error
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Runner is the carrier of replace rows.
type Runner struct {
	Orders Orders
	Ledger Ledger
}

// Carry rolls back what each row names, then removes the row. Dies in between:
// the row comes again and finds nothing left to do.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	var failed error
	for _, row := range rows {
		if err := r.carry(ctx, row); err != nil {
			failed = fmt.Errorf("replace: row %s: %w", row.ID, err)
		}
	}
	return failed
}

func (r *Runner) carry(ctx context.Context, row outbox.Row) error {
	var what outbox.Replace
	if err := json.Unmarshal(row.Payload, &what); err != nil {
		if err := r.Ledger.Bury(ctx, "replace", err.Error(), row.Payload, map[string]string{"row": row.ID}); err != nil {
			return err
		}
		return r.Ledger.Delete(ctx, row.ID)
	}
	ended := make(chan error, len(what.IDs))
	for _, id := range what.IDs {
		go func() {
			_, err := r.Orders.Replace(ctx, id)
			ended <- err
		}()
	}
	var failed error
	for range what.IDs {
		err := <-ended
		var state *order.StateError
		if err != nil && !errors.As(err, &state) && !errors.Is(err, order.ErrUnknown) {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	return r.Ledger.Delete(ctx, row.ID)
}
