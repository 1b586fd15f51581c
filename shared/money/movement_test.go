package money_test

import (
	"testing"

	"vendline/shared/money"
)

func move(kind money.Kind, ref string, minor int64, currency string) money.Movement {
	return money.Movement{Kind: kind, Ref: ref, Money: money.Money{Minor: minor, Currency: currency}}
}

func TestMovementsAddUp(t *testing.T) {
	s, err := money.Sum([]money.Movement{
		move(money.Authorised, "t", 700, "CNY"), move(money.Captured, "p", 700, "CNY"),
		move(money.Refunded, "r1", 350, "CNY"), move(money.Refunded, "r2", 100, "CNY"),
	})
	if err != nil || s.Authorised.Minor != 700 || s.Captured.Minor != 700 || s.Refunded.Minor != 450 || s.Kept.Minor != 250 {
		t.Errorf("sums %v, %v", s, err)
	}
	if s, err := money.Sum(nil); err != nil || s != (money.Sums{}) {
		t.Errorf("of nothing: %v, %v", s, err)
	}
}

func TestALedgerThatIsWrongDoesNotAddUp(t *testing.T) {
	for name, ms := range map[string][]money.Movement{
		"same refund twice":       {move(money.Captured, "p", 700, "CNY"), move(money.Refunded, "r", 100, "CNY"), move(money.Refunded, "r", 100, "CNY")},
		"negative":                {move(money.Captured, "p", -1, "CNY")},
		"more back than came in":  {move(money.Captured, "p", 700, "CNY"), move(money.Refunded, "r", 701, "CNY")},
		"back without coming in":  {move(money.Refunded, "r", 1, "CNY")},
		"another currency back":   {move(money.Captured, "p", 700, "CNY"), move(money.Refunded, "r", 100, "USD")},
		"two currencies captured": {move(money.Captured, "p", 700, "CNY"), move(money.Captured, "q", 100, "USD")},
		"paid in another one":     {move(money.Authorised, "t", 700, "CNY"), move(money.Captured, "p", 700, "USD")},
		"unknown kind":            {move("gift", "g", 1, "CNY")},
		"overflow":                {move(money.Captured, "p", 1<<62, "CNY"), move(money.Captured, "q", 1<<62, "CNY")},
	} {
		if s, err := money.Sum(ms); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func TestAMovementNamesItself(t *testing.T) {
	if got := move(money.Captured, "p", 700, "CNY").String(); got != "captured 7.00 CNY (p)" {
		t.Errorf("it says %q", got)
	}
}
