package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vendline/shared/wire"
)

// Intent is how far an order is that was taken in without an answer, to be
// placed afterwards. While it is pending, and for ever when it is refused, its
// order is INIT and takes no stock.
type Intent struct {
	Status    IntentStatus
	Code      wire.Code // of a refusal
	Detail    string    // likewise, for people
	Callback  string    // URL that is told of the outcome; empty is none
	DecideBy  time.Time // when patience ends, as first answered
	ChangedAt time.Time
}

// IntentStatus says whether an intent is decided.
type IntentStatus string

// States of an intent.
const (
	IntentPending IntentStatus = "pending"
	IntentPlaced  IntentStatus = "placed"
	IntentRefused IntentStatus = "refused"
)

// Patience with an intent that is not decided.
const (
	DefaultPatience = 2 * time.Minute
	MaxPatience     = 10 * time.Minute
)

// An intent's order has version 0. Its placement makes that 1, as if it had been
// placed at once: marker, statement and answer are the same. Its refusal makes
// it RefusedVersion, which is past whatever a placement took in Redis, so that a
// late one can not count.
const (
	intentVersion  = 0
	RefusedVersion = 2
)

// Pending reports whether an order waits to be placed.
func (o Order) Pending() bool { return o.Status == Init && o.Version == intentVersion }

// Refused reports whether an order will never be placed.
func (o Order) Refused() bool { return o.Status == Init && o.Version != intentVersion }

// Refused asks that a pending order is not placed any more.
type Refused struct {
	ID     string
	Code   wire.Code
	Detail string // for people
}

// Wishes go with a request that is taken in.
type Wishes struct {
	Patience time.Duration // 0 means DefaultPatience; more than MaxPatience is that
	Callback string        // URL to tell of the outcome; empty is none
}

// Intents makes orders durable that are to be placed afterwards.
type Intents interface {
	// TakeIn commits a pending order with its lines and the outbox row that places
	// it, in one transaction shared with other callers. Errors: ErrExists, *Refusal
	// for a cabinet, or a SKU at it, that is not there.
	TakeIn(ctx context.Context, o *Order) error
	// Refuse ends a pending order, in a transaction shared with other callers, and
	// makes sure that Redis holds nothing for it. An order that is decided already
	// is a *StateError.
	Refuse(ctx context.Context, r *Refused) error
}

// ErrTakenIn comes with an order that was taken in, when it was asked to be
// placed: its answer is the first one, and its outcome is had by following it.
var ErrTakenIn = errors.New("order: the id was taken in, to be placed afterwards")

// TakeIn keeps a request that is to be placed afterwards.
//
// Promise: a nil error means that the order is committed as INIT with the row
// that places it; what it costs is fixed. ErrTakenIn says the same, of an order
// that is here already. A nil error with replay true is an order that was placed
// at once under this id. Dies anywhere: the caller asks again under the same id.
func (s *Service) TakeIn(ctx context.Context, r Request, w Wishes) (o Order, replay bool, err error) {
	o, _, first, err := s.prepare(ctx, r)
	if err != nil {
		return Order{}, false, err
	}
	if w.Patience <= 0 {
		w.Patience = DefaultPatience
	}
	by := o.CreatedAt.Add(min(w.Patience, MaxPatience))
	o.Status, o.Version, o.ExpiresAt, o.HoldUntil = Init, intentVersion, by, time.Time{}
	o.Intent = &Intent{Status: IntentPending, Callback: w.Callback, DecideBy: by, ChangedAt: o.CreatedAt}
	if first != nil {
		return answer(*first, o)
	}
	if !s.Room.Enter() {
		return s.exists(ctx, o, &Refusal{Code: wire.CodeOverloaded, Detail: "more orders wait to be placed than this service takes"})
	}
	switch err := s.Intents.TakeIn(ctx, &o); {
	case err == nil:
		return o, false, nil
	case errors.Is(err, ErrExists):
		return s.exists(ctx, o, err)
	default:
		return Order{}, false, err
	}
}

// takenIn is an intent's order as it was first answered.
func takenIn(o Order) Order {
	intent := Intent{Status: IntentPending, Callback: o.Intent.Callback, DecideBy: o.Intent.DecideBy, ChangedAt: o.CreatedAt}
	o.Status, o.Version, o.ExpiresAt, o.HoldUntil, o.Intent = Init, intentVersion, intent.DecideBy, time.Time{}, &intent
	o.Lines = slices.Clone(o.Lines)
	for i := range o.Lines {
		o.Lines[i].State, o.Lines[i].Dropped = LinePending, 0
	}
	return o
}

// exists answers from what an id has; with no if it has nothing.
func (s *Service) exists(ctx context.Context, asked Order, no error) (Order, bool, error) {
	first, err := s.Ledger.Find(ctx, asked.ID)
	switch {
	case err == nil:
		return answer(first, asked)
	case errors.Is(err, ErrUnknown):
		return Order{}, false, no
	default:
		return Order{}, false, fmt.Errorf("place: find the first order: %w", err)
	}
}

// Admit places a pending order, at the prices it was taken in at and under the
// limits of today. It returns nil, ErrExists or a *StateError for an order that
// is decided already, a *Refusal, or an error after which the outcome is unknown
// and it may be called again.
func (s *Service) Admit(ctx context.Context, o Order) error {
	items, err := s.limits(ctx, o)
	if err != nil {
		return err
	}
	return s.placeOver(ctx, o, items, s.Placer.Admit)
}
