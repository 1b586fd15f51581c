// Package money holds amounts as integers of a currency's minor unit, never as
// a float, and the ledger of what happened to a payer's money. It imports the
// standard library alone; both sides may use it.
package money

import (
	"errors"
	"fmt"
	"math"
)

// Errors of arithmetic. Neither loses money silently.
var (
	ErrCurrency = errors.New("money: two currencies do not add up")
	ErrOverflow = errors.New("money: the amount does not fit 64 bits")
)

// Money is an amount in the minor unit of an ISO 4217 currency: {350 CNY} is
// 3.50 yuan, {350 JPY} is 350 yen. The zero value is nothing in no currency,
// and adds to any.
type Money struct {
	Minor    int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Of returns an amount, or an error when currency is not three capital letters.
func Of(minor int64, currency string) (Money, error) {
	if !ValidCurrency(currency) {
		return Money{}, fmt.Errorf("money: %q is not an ISO 4217 currency", currency)
	}
	return Money{minor, currency}, nil
}

// ValidCurrency reports whether s has the form of an ISO 4217 code.
func ValidCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

// IsZero reports whether nothing is owed.
func (m Money) IsZero() bool { return m.Minor == 0 }

// Plus returns m + n.
func (m Money) Plus(n Money) (Money, error) {
	currency, err := common(m, n)
	if err != nil {
		return Money{}, err
	}
	sum := m.Minor + n.Minor
	if n.Minor > 0 && sum < m.Minor || n.Minor < 0 && sum > m.Minor {
		return Money{}, ErrOverflow
	}
	return Money{sum, currency}, nil
}

// Minus returns m - n.
func (m Money) Minus(n Money) (Money, error) {
	currency, err := common(m, n)
	if err != nil {
		return Money{}, err
	}
	difference := m.Minor - n.Minor
	if n.Minor > 0 && difference > m.Minor || n.Minor < 0 && difference < m.Minor {
		return Money{}, ErrOverflow
	}
	return Money{difference, currency}, nil
}

// Times returns m taken n times.
func (m Money) Times(n int64) (Money, error) {
	product := m.Minor * n
	if m.Minor != 0 && (product/m.Minor != n || m.Minor == -1 && n == math.MinInt64) {
		return Money{}, ErrOverflow
	}
	return Money{product, m.Currency}, nil
}

func common(m, n Money) (string, error) {
	switch {
	case m.Currency == n.Currency, n == Money{}:
		return m.Currency, nil
	case m == Money{}:
		return n.Currency, nil
	}
	return "", fmt.Errorf("%w: %s and %s", ErrCurrency, m.Currency, n.Currency)
}
