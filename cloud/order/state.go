package order

// Status is an order's state. There are these four and no others.
type Status string

// States of an order. Dispense and refund live on the line, not here.
const (
	Init        Status = "INIT"
	PreReserved Status = "PRE_RESERVED" // stock is held, payment is awaited
	Consumed    Status = "CONSUMED"     // paid
	RolledBack  Status = "ROLLBACKED"   // stock given back
)

// Event moves an order from one state to the next.
type Event string

// Events, with the guard each needs.
const (
	PreDeduct   Event = "EV_PRE_DEDUCT"   // guard: the basket was taken from stock
	PaySuccess  Event = "EV_PAY_SUCCESS"  // guard: signature valid, amount and currency equal
	Timeout     Event = "EV_TIMEOUT"      // guard: the provider says unpaid
	RetryDeduct Event = "EV_RETRY_DEDUCT" // guard: the basket was taken again
)

// Statuses and Events list all of them, in order.
var (
	Statuses = [...]Status{Init, PreReserved, Consumed, RolledBack}
	Events   = [...]Event{PreDeduct, PaySuccess, Timeout, RetryDeduct}
)

// Next is the transition table: the state that event leads to from s, and
// whether it is allowed at all. All other pairs are refused.
func Next(s Status, e Event) (Status, bool) {
	switch {
	case s == Init && e == PreDeduct:
		return PreReserved, true
	case s == PreReserved && e == PaySuccess:
		return Consumed, true
	case s == PreReserved && e == Timeout:
		return RolledBack, true
	case s == RolledBack && e == RetryDeduct:
		return PreReserved, true
	}
	return s, false
}

// Final reports whether an order in s is done waiting for its shopper.
func (s Status) Final() bool { return s == Consumed || s == RolledBack }

// InForce reports whether an order in s takes units from `available`.
func (s Status) InForce() bool { return s == PreReserved || s == Consumed }
