package payment

import (
	"sync/atomic"

	"vendline/cloud/order"
)

// Counters count what this process did, since its start.
type Counters struct {
	Paid             atomic.Int64 // captures that consumed their order
	Again            atomic.Int64 // … that had been booked before
	Late             atomic.Int64 // … that came after their order's end
	Twice            atomic.Int64 // … of orders that were paid already
	Mismatched       atomic.Int64 // money that was not what was asked
	NoticesKept      atomic.Int64
	NoticesRefused   atomic.Int64 // callbacks that were not their provider's, too old, or replays
	RefundsDone      atomic.Int64
	RefundsStuck     atomic.Int64
	ProviderCalls    atomic.Int64 // calls to providers
	ProviderFailures atomic.Int64 // calls without a usable answer
}

func (c *Counters) captured(what order.Captured) {
	switch what {
	case order.CapturedPays:
		c.Paid.Add(1)
	case order.CapturedAgain:
		c.Again.Add(1)
	case order.CapturedLate:
		c.Late.Add(1)
	case order.CapturedTwice:
		c.Twice.Add(1)
	}
}
