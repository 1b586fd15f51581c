package payment

import (
	"time"

	"vendline/shared/money"
)

// Payment is one charge at one provider, as the ledger keeps it. An order has
// at most one at each provider.
type Payment struct {
	ID        string
	Order     string
	Provider  string
	TradeNo   string
	Status    Status
	Amount    money.Money
	Ref       string // the provider's number, once its money is here
	CreatedAt time.Time
	ChangedAt time.Time
}

// Status is where a payment stands in our books.
type Status string

// Statuses. Money that has arrived is Paid or Surplus, and never anything else
// again.
const (
	StatusOpen     Status = "open"     // asked for; it may be paid at any moment
	StatusPaid     Status = "paid"     // its money pays for its order
	StatusSurplus  Status = "surplus"  // its money came when the order could not take it: it will be Paid, or goes back
	StatusClosed   Status = "closed"   // the provider takes no money for it any more
	StatusDisputed Status = "disputed" // the provider was paid something else than was asked: a person decides
)

// Captured reports whether the payment's money is here.
func (p Payment) Captured() bool { return p.Status == StatusPaid || p.Status == StatusSurplus }

// Return is money on its way back to its payer: of one line, or of a whole
// payment.
type Return struct {
	ID        string // the provider's idempotency key, too
	Payment   string
	Order     string
	SKU       string // empty: the whole payment
	Amount    money.Money
	Status    ReturnStatus
	Reason    string
	Attempts  int
	LastError string
	CreatedAt time.Time
	ChangedAt time.Time
}

// ReturnStatus is how far a return is.
type ReturnStatus string

// Statuses of a return.
const (
	ReturnPending ReturnStatus = "pending"
	ReturnDone    ReturnStatus = "done"
	ReturnStuck   ReturnStatus = "stuck" // the provider does not do it: a case is open
)

// Account is all that is known of an order's money.
type Account struct {
	Payments  []Payment
	Returns   []Return
	Movements []money.Movement
}

// Standing says in one word where an order's money is, for its shopper: "" when
// none has arrived.
func (a Account) Standing() string {
	sums, err := money.Sum(a.Movements)
	if err != nil || sums.Captured.IsZero() {
		return ""
	}
	for _, r := range a.Returns {
		if r.Status != ReturnDone {
			return "refunding"
		}
	}
	if sums.Kept.IsZero() {
		return "refunded"
	}
	return "paid"
}
