package intent

import (
	"sync/atomic"

	"vendline/shared/wire"
)

// Counters count the intents that this process decided, since its start.
type Counters struct {
	Placed     atomic.Int64
	Short      atomic.Int64 // stock_short
	Limited    atomic.Int64 // purchase_limit
	Overloaded atomic.Int64 // patience ended
	Refused    atomic.Int64 // for any other reason
}

func (c *Counters) count(code wire.Code) {
	switch code {
	case wire.Accepted:
		c.Placed.Add(1)
	case wire.CodeStockShort:
		c.Short.Add(1)
	case wire.CodePurchaseLimit:
		c.Limited.Add(1)
	case wire.CodeOverloaded:
		c.Overloaded.Add(1)
	default:
		c.Refused.Add(1)
	}
}
