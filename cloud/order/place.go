package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vendline/shared/wire"
)

// attempts bounds how often a placement starts over under a fresh generation.
const attempts = 6

// Fast places through the stock filter and shared commits (design: steps 5–6).
type Fast struct {
	Stock  Stock
	Ledger Ledger
	Fence  Fence
}

// Place takes the basket in Redis, then makes it count in MySQL.
//
// Between the two the hold is known to Redis alone. Dies there: nobody heard
// yes; the same id again finds its marker and goes on, or the orphan sweep
// inserts the order as ROLLBACKED and gives the stock back, whichever commits
// first. A run whose generation is stale, or whose ticket was drawn twice, does
// not count: it starts over under the same id and version.
func (f *Fast) Place(ctx context.Context, o Order, items []Item) error {
	b := Basket{ID: o.ID, Version: o.Version, Cabinet: o.Cabinet, User: o.User, Items: items}
	return f.take(ctx, b, func(taken Taken) error {
		if taken.Seen {
			if _, err := f.Ledger.Find(ctx, o.ID); err == nil {
				return ErrExists
			} else if !errors.Is(err, ErrUnknown) {
				return fmt.Errorf("place: %w", err)
			}
			if taken.Released {
				return &Refusal{Code: wire.CodeOrderReleased, Detail: "the first attempt was given back; order again under a new id or key"}
			}
		}
		err := f.Ledger.Place(ctx, &Placement{Order: o, Run: taken.Run})
		if errors.Is(err, ErrSpare) && !taken.Seen {
			// Stock was taken for an order that exists: its marker had expired,
			// or it belongs to another cabinet. Redis is wrong by this basket; a
			// rebuild makes it exact.
			if err := f.Fence.Draw(ctx, o.Cabinet, taken.Generation); err != nil {
				return err
			}
			return ErrExists
		}
		if errors.Is(err, ErrExists) {
			// A second tap saw the marker of this run and was the first to commit.
			return ErrExists
		}
		return err
	})
}

// take takes a basket in Redis and makes it count by commit, under a generation
// that is current and a ticket that nobody else drew; while they are not, it
// starts over under the same id and version.
func (f *Fast) take(ctx context.Context, b Basket, commit func(Taken) error) error {
	for range attempts {
		taken, err := f.Stock.Deduct(ctx, b)
		if errors.Is(err, ErrNotLoaded) {
			if err := f.Fence.Rebuild(ctx, b.Cabinet); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		switch err := commit(taken); {
		case errors.Is(err, ErrDoubled):
			if err := f.Fence.Draw(ctx, b.Cabinet, taken.Generation); err != nil {
				return err
			}
			fallthrough
		case errors.Is(err, ErrStale):
			if err := f.Fence.Rebuild(ctx, b.Cabinet); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return &Refusal{Code: wire.CodeFenced, Detail: "the cabinet's stock is being rebuilt; ask again under the same id or key"}
}

// Sync places in one guarded transaction per order.
type Sync struct{ Ledger SyncLedger }

// Place implements Placer.
func (p *Sync) Place(ctx context.Context, o Order, items []Item) error {
	return p.Ledger.PlaceSync(ctx, o, items)
}

// Admit implements Placer.
func (p *Sync) Admit(ctx context.Context, o Order, items []Item) error {
	return p.Ledger.AdmitSync(ctx, o, items)
}

// Admit places a pending order: the basket in Redis, then INIT to PRE_RESERVED
// in MySQL.
//
// Dies between the two: nobody was told of an outcome; the order's outbox row
// comes again, finds the marker of this run and goes on with it, or refuses the
// order, which gives back what its marker says. Dies after: the row finds the
// order placed.
func (f *Fast) Admit(ctx context.Context, o Order, items []Item) error {
	b := Basket{ID: o.ID, Version: o.Version + 1, Cabinet: o.Cabinet, User: o.User, Items: items}
	return f.take(ctx, b, func(taken Taken) error {
		if taken.Released { // placed, and over again; or refused
			return ErrExists
		}
		return f.Ledger.Transition(ctx, &Change{ID: o.ID, Event: PreDeduct, Cause: "placed", Run: taken.Run})
	})
}

// Retry takes a rolled-back order's basket again (EV_RETRY_DEDUCT): for a
// shopper whose payment came late and who is still there.
func (f *Fast) Retry(ctx context.Context, o Order, items []Item) (after Order, err error) {
	b := Basket{ID: o.ID, Version: o.Version + 1, Cabinet: o.Cabinet, User: o.User, Items: items}
	err = f.take(ctx, b, func(taken Taken) error {
		if taken.Released {
			return &Refusal{Code: wire.CodeOrderReleased, Detail: "the order moved on; read it again"}
		}
		c := Change{ID: o.ID, Event: RetryDeduct, Cause: "paid late", Version: o.Version, Run: taken.Run}
		err := f.Ledger.Transition(ctx, &c)
		if err == nil { // else c may still be on its way: others share the trip
			after = c.After
		}
		return err
	})
	return after, err
}

// mayBeOld reports whether an id may be older than the markers in Redis: its
// UUIDv7 time is long past or ahead of the clock, or it tells no time.
func mayBeOld(id string, now time.Time) bool {
	t, ok := MintedAt(id)
	return !ok || now.Sub(t) > 23*time.Hour || t.Sub(now) > 5*time.Minute
}
