package money

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimal writes the amount in the currency's major unit with all its
// decimals, as people and some providers want it: "3.50". For programs the
// minor unit is the amount.
func (m Money) Decimal() string {
	digits, sign := strconv.FormatUint(magnitude(m.Minor), 10), ""
	if m.Minor < 0 {
		sign = "-"
	}
	decimals := Exponent(m.Currency)
	if decimals == 0 || m.Currency == "" {
		return sign + digits
	}
	if short := decimals + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - decimals
	return sign + digits[:point] + "." + digits[point:]
}

// String writes the amount for people: "3.50 CNY".
func (m Money) String() string {
	if m.Currency == "" {
		return m.Decimal()
	}
	return m.Decimal() + " " + m.Currency
}

// ParseDecimal reads an amount that a provider wrote in the major unit. It
// takes digits, and a point with at most as many decimals as the currency has,
// and nothing else: no sign, exponent, space or leading zero. What it does not
// take would be a guess about money.
func ParseDecimal(s, currency string) (Money, error) {
	if !ValidCurrency(currency) {
		return Money{}, fmt.Errorf("money: %q is not an ISO 4217 currency", currency)
	}
	whole, fraction, point := strings.Cut(s, ".")
	decimals := Exponent(currency)
	if !digits(whole) || len(whole) > 1 && whole[0] == '0' || point && (!digits(fraction) || len(fraction) > decimals) {
		return Money{}, fmt.Errorf("money: %.40q is not an amount in %s", s, currency)
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		return Money{}, fmt.Errorf("%w: %.40q", ErrOverflow, s)
	}
	return Money{minor, currency}, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// magnitude is |n|, which for the smallest number does not fit an int64.
func magnitude(n int64) uint64 {
	if n == math.MinInt64 {
		return 1 << 63
	}
	if n < 0 {
		n = -n
	}
	return uint64(n)
}
