package order

import (
	"errors"
	"fmt"
)

// Errors that a Ledger returns and callers branch on.
var (
	ErrUnknown = errors.New("order: no such order")
	ErrExists  = errors.New("order: the id already has an order")
	ErrStale   = errors.New("order: the stock generation is no longer current")
	ErrDoubled = errors.New("order: the ticket was drawn twice")

	// ErrSpare is an ErrExists whose run is not the one that the order was placed,
	// or given back, under: its stock was taken besides, for nobody.
	ErrSpare = fmt.Errorf("%w, and stock was taken for it once more", ErrExists)
)

// ErrNotLoaded is returned by a Stock whose cabinet is fenced: nothing was
// taken or changed. Rebuild the cabinet, then ask again under the same id.
var ErrNotLoaded = errors.New("order: the cabinet's stock is not loaded")

// StateError says that an order's state does not allow an event.
type StateError struct {
	Order Order // as it is
	Event Event
}

func (e *StateError) Error() string {
	return fmt.Sprintf("order: %s is not possible in state %s (version %d)", e.Event, e.Order.Status, e.Order.Version)
}
