package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"vendline/shared/wire"
)

// Service places orders and moves them through their states.
type Service struct {
	Ledger    Ledger
	Catalogue Catalogue
	Placer    Placer   // *Fast or *Sync
	Intents   Intents  // nil: every order is placed at once
	Room      *Room    // for intents; nil likewise
	Charges   Charges  // nil: nobody pays at a provider
	Sessions  Sessions // nil: nobody notes who waits
	Watcher   *Watcher
	Clock     func() time.Time
	Hold      time.Duration // how long an unpaid order keeps its stock
	Log       *slog.Logger
}

// Placer takes a priced order from stock and makes it durable. It returns nil,
// ErrExists (the id has an order already; nothing more was taken), a *Refusal,
// or an error after which the outcome is unknown and the same id may be sent
// again.
type Placer interface {
	Place(ctx context.Context, o Order, items []Item) error
	// Admit does the same with a pending order; one that is decided already is
	// ErrExists, or a *StateError.
	Admit(ctx context.Context, o Order, items []Item) error
}

// Place is the one way into the system, for phones and cabinets alike.
//
// Promise: a nil error means that the order, its lines and its outbox rows are
// committed. The same request again, at any time, gets the same order as it was
// first answered (replay true). The same id with other content is refused and
// the first order stands. Dies anywhere: the caller asks again under the same
// id; whatever the first attempt took is either used or given back, once.
func (s *Service) Place(ctx context.Context, r Request) (o Order, replay bool, err error) {
	o, items, first, err := s.prepare(ctx, r)
	if err != nil {
		return Order{}, false, err
	}
	if first != nil {
		return answer(*first, o)
	}
	var refused *Refusal
	switch err := s.placeOver(ctx, o, items, s.Placer.Place); {
	case err == nil:
		return o, false, nil
	case errors.Is(err, ErrExists):
		return s.exists(ctx, o, err)
	case errors.As(err, &refused) && (s.Room.Used() || refused.Code == wire.CodeStockShort || refused.Code == wire.CodePurchaseLimit):
		// The id may have its yes already: it was taken in, or Redis, away or gone back
		// in time, has not heard of it. MySQL is asked before anybody hears no.
		return s.exists(ctx, o, err)
	default:
		return Order{}, false, err
	}
}

// prepare drafts and prices an order, and returns besides what its id has
// already, where only MySQL can tell.
func (s *Service) prepare(ctx context.Context, r Request) (o Order, items []Item, first *Order, err error) {
	o, err = s.draft(r)
	if err != nil {
		return Order{}, nil, nil, err
	}
	items, no := s.price(ctx, &o, r.PricedAt)
	var refused *Refusal
	if no != nil && !errors.As(no, &refused) {
		return Order{}, nil, nil, no
	}
	if no != nil || mayBeOld(o.ID, s.Clock()) {
		// The catalogue may have changed since the first attempt, or its marker
		// expired: MySQL is asked before anybody hears no, and before stock is.
		found, err := s.Ledger.Find(ctx, o.ID)
		if err == nil {
			return o, items, &found, nil
		}
		if !errors.Is(err, ErrUnknown) {
			return Order{}, nil, nil, fmt.Errorf("place: %w", err)
		}
	}
	return o, items, nil, no
}

// draft makes an order of a request, without prices. Nothing is asked, taken or
// written yet.
func (s *Service) draft(r Request) (Order, error) {
	if !wire.ValidID(r.ID) {
		return Order{}, &Refusal{Code: wire.CodeInvalidRequest, Detail: "id must be a lower-case UUID"}
	}
	if !wire.ValidCabinet(r.Cabinet) {
		return Order{}, &Refusal{Code: wire.CodeInvalidRequest, Detail: "cabinet must be 1 to 32 letters, digits, '_' or '-'"}
	}
	if !wire.ValidUser(r.User) {
		return Order{}, &Refusal{Code: wire.CodeInvalidRequest, Detail: "user must be 1 to 64 letters, digits, '.', '_', '@', ':' or '-'"}
	}
	lines, err := wire.Basket(r.Lines)
	if err != nil {
		return Order{}, &Refusal{Code: wire.CodeInvalidRequest, Detail: err.Error()}
	}
	now := s.Clock().Truncate(time.Millisecond).UTC()
	o := Order{ID: r.ID, Cabinet: r.Cabinet, User: r.User, Status: PreReserved, Version: 1, CreatedAt: now, ExpiresAt: now.Add(s.Hold), HoldUntil: now.Add(s.Hold)}
	o.Lines = make([]Line, len(lines))
	for i, l := range lines {
		o.Lines[i] = Line{SKU: l.SKU, Qty: l.Qty, State: LinePending}
	}
	return o, nil
}

// answer replays the first reply of an id: the order as it was accepted, which
// is what its immutable fields say, whatever has become of it since.
func answer(first, asked Order) (Order, bool, error) {
	if !first.SameContent(asked) {
		return Order{}, false, &Refusal{Code: wire.CodeIdempotencyConflict, Detail: "this id or key was used for another order, which stands"}
	}
	if first.Orphan {
		return Order{}, false, &Refusal{Code: wire.CodeOrderReleased, Detail: "the first attempt was interrupted and its stock given back; order again under a new id or key"}
	}
	if first.Intent != nil {
		return takenIn(first), true, ErrTakenIn
	}
	first.Status, first.Version, first.HoldUntil = PreReserved, 1, first.ExpiresAt
	first.Lines = slices.Clone(first.Lines)
	for i := range first.Lines {
		first.Lines[i].State, first.Lines[i].Dropped = LinePending, 0
	}
	return first, true, nil
}

// Get returns an order as it stands, or ErrUnknown.
func (s *Service) Get(ctx context.Context, id string) (Order, error) {
	return s.Ledger.Find(ctx, id)
}

// History returns what happened to an order, oldest first, or ErrUnknown.
func (s *Service) History(ctx context.Context, id string) ([]Entry, error) {
	return s.Ledger.History(ctx, id)
}

// Watch returns a channel that is closed when this process changes the order. As
// one who waits, its caller counts as a shopper who is there.
func (s *Service) Watch(ctx context.Context, id string) (changed <-chan struct{}, stop func()) {
	s.seen(ctx, id)
	return s.Watcher.wait(id)
}

// Pay moves a hold to CONSUMED. The caller has checked the payment's signature,
// amount and currency. Paying twice is no error; a rolled-back order is a
// *StateError.
func (s *Service) Pay(ctx context.Context, id string) (Order, error) {
	return s.move(ctx, Change{ID: id, Event: PaySuccess, Cause: "paid"}, Consumed)
}

func (s *Service) move(ctx context.Context, c Change, done Status) (Order, error) {
	err := s.Ledger.Transition(ctx, &c)
	var refused *StateError
	if errors.As(err, &refused) && refused.Order.Status == done {
		return refused.Order, nil
	}
	if err != nil {
		return Order{}, err // c may still be on its way: others share the trip
	}
	return c.After, nil
}
