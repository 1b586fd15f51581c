package money

import "fmt"

// Kind says what happened to a payer's money.
type Kind string

// Kinds of movements. What a movement is about never changes; a correction is
// another movement.
const (
	Authorised Kind = "authorised" // asked for: the provider knows what is to be paid
	Captured   Kind = "captured"   // paid: the provider has the money for us
	Refunded   Kind = "refunded"   // given back by the provider
)

// Movement is one line of an order's money ledger.
type Movement struct {
	Kind Kind   `json:"kind"`
	Ref  string `json:"ref"` // of the payment or the refund; (kind, ref) happens once
	Money
}

// String names the whole movement: without it, the amount's own would speak for
// all of it.
func (m Movement) String() string { return fmt.Sprintf("%s %s (%s)", m.Kind, m.Money, m.Ref) }

// Sums of an order's movements.
type Sums struct {
	Authorised Money
	Captured   Money
	Refunded   Money
	Kept       Money // captured less refunded: dispensed value, and what is still in progress
}

// Sum adds an order's movements up. An error means that the ledger is wrong:
// mixed currencies, a negative amount, the same movement twice, or more given
// back than came in.
func Sum(ms []Movement) (Sums, error) {
	var s Sums
	type once struct {
		kind Kind
		ref  string
	}
	seen := make(map[once]bool, len(ms))
	for _, m := range ms {
		key := once{m.Kind, m.Ref}
		if seen[key] || m.Minor < 0 {
			return s, fmt.Errorf("money: movement %s is there twice, or negative", m)
		}
		seen[key] = true
		into := map[Kind]*Money{Authorised: &s.Authorised, Captured: &s.Captured, Refunded: &s.Refunded}[m.Kind]
		if into == nil {
			return s, fmt.Errorf("money: unknown movement %q", m.Kind)
		}
		var err error
		if *into, err = into.Plus(m.Money); err != nil {
			return s, err
		}
	}
	if _, err := common(s.Authorised, s.Captured); err != nil {
		return s, err
	}
	var err error
	if s.Kept, err = s.Captured.Minus(s.Refunded); err != nil {
		return s, err
	}
	if s.Kept.Minor < 0 {
		return s, fmt.Errorf("money: %s refunded of %s captured", s.Refunded, s.Captured)
	}
	return s, nil
}
