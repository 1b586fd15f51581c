package money_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"vendline/shared/money"
)

func TestAmountsAreWrittenWithTheDecimalsOfTheirCurrency(t *testing.T) {
	for _, c := range []struct {
		of   money.Money
		want string
	}{
		{money.Money{Minor: 350, Currency: "CNY"}, "3.50 CNY"},
		{money.Money{Minor: 5, Currency: "EUR"}, "0.05 EUR"},
		{money.Money{Minor: 0, Currency: "USD"}, "0.00 USD"},
		{money.Money{Minor: -350, Currency: "USD"}, "-3.50 USD"},
		{money.Money{Minor: -7, Currency: "CNY"}, "-0.07 CNY"},
		{money.Money{Minor: 350, Currency: "JPY"}, "350 JPY"},
		{money.Money{Minor: 350, Currency: "KRW"}, "350 KRW"},
		{money.Money{Minor: 350, Currency: "KWD"}, "0.350 KWD"},
		{money.Money{Minor: math.MinInt64, Currency: "CNY"}, "-92233720368547758.08 CNY"},
		{money.Money{}, "0"},
	} {
		if got := c.of.String(); got != c.want {
			t.Errorf("%#v is written %q, want %q", c.of, got, c.want)
		}
	}
}

func TestDecimalsAreReadExactlyOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		s, currency string
		want        int64
	}{
		{"3.50", "CNY", 350}, {"3.5", "CNY", 350}, {"3", "CNY", 300}, {"0.01", "CNY", 1}, {"0", "CNY", 0},
		{"90071992547409.93", "CNY", 9007199254740993}, {"350", "JPY", 350}, {"0.350", "KWD", 350},
	} {
		got, err := money.ParseDecimal(c.s, c.currency)
		if err != nil || got != (money.Money{Minor: c.want, Currency: c.currency}) {
			t.Errorf("%s %s is read as %v, %v", c.s, c.currency, got, err)
		}
	}
	for _, s := range []string{
		"", ".", ".5", "5.", "-1", "+1", "-0.00", "1e2", "1E2", "0x10", "1_000", "1,00", " 1", "1 ", "3.501", "3.500", "007", "00.1",
		"1.2.3", "NaN", "Inf", "٣", "99999999999999999999", "92233720368547758.08",
	} {
		if got, err := money.ParseDecimal(s, "CNY"); err == nil {
			t.Errorf("%q is read as %v", s, got)
		}
	}
	if _, err := money.ParseDecimal("350.0", "JPY"); err == nil {
		t.Error("a yen has no decimals")
	}
	if _, err := money.ParseDecimal("1", "cny"); err == nil {
		t.Error("cny is not a currency")
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := money.Money{
			Minor:    rapid.Int64Range(0, math.MaxInt64).Draw(t, "minor"),
			Currency: rapid.SampledFrom([]string{"CNY", "EUR", "JPY", "KWD", "CLF"}).Draw(t, "currency"),
		}
		if got, err := money.ParseDecimal(m.Decimal(), m.Currency); err != nil || got != m {
			t.Fatalf("%v is read back as %v, %v", m, got, err)
		}
	})
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"3.50", "0", "1e9", "-1", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := money.ParseDecimal(s, "CNY")
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok || m.Minor < 0 || exact.Cmp(big.NewRat(m.Minor, 100)) != 0 {
			t.Fatalf("%q is read as %v", s, m)
		}
	})
}

func TestArithmeticIsExactOrAnError(t *testing.T) {
	edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
		x, y := money.Money{Minor: a, Currency: "CNY"}, money.Money{Minor: b, Currency: "CNY"}
		for name, c := range map[string]struct {
			got  func() (money.Money, error)
			want *big.Int
		}{
			"plus":  {func() (money.Money, error) { return x.Plus(y) }, new(big.Int).Add(big.NewInt(a), big.NewInt(b))},
			"minus": {func() (money.Money, error) { return x.Minus(y) }, new(big.Int).Sub(big.NewInt(a), big.NewInt(b))},
			"times": {func() (money.Money, error) { return x.Times(b) }, new(big.Int).Mul(big.NewInt(a), big.NewInt(b))},
		} {
			got, err := c.got()
			if !c.want.IsInt64() {
				if !errors.Is(err, money.ErrOverflow) {
					t.Fatalf("%d %s %d is %v, %v", a, name, b, got, err)
				}
				continue
			}
			if err != nil || got.Minor != c.want.Int64() || got.Currency != "CNY" {
				t.Fatalf("%d %s %d is %v, %v", a, name, b, got, err)
			}
		}
	})
}

func TestCurrenciesDoNotMix(t *testing.T) {
	yuan, dollar := money.Money{Minor: 1, Currency: "CNY"}, money.Money{Minor: 1, Currency: "USD"}
	if _, err := yuan.Plus(dollar); !errors.Is(err, money.ErrCurrency) {
		t.Errorf("plus: %v", err)
	}
	if _, err := yuan.Minus(dollar); !errors.Is(err, money.ErrCurrency) {
		t.Errorf("minus: %v", err)
	}
	if got, err := (money.Money{}).Minus(yuan); err != nil || got != (money.Money{Minor: -1, Currency: "CNY"}) {
		t.Errorf("nothing less %v is %v, %v", yuan, got, err)
	}
	if got, err := yuan.Plus(money.Money{}); err != nil || got != yuan {
		t.Errorf("%v and nothing is %v, %v", yuan, got, err)
	}
	for _, bad := range []string{"", "cny", "CN", "CNYY", "C1Y", "人民币"} {
		if _, err := money.Of(1, bad); err == nil {
			t.Errorf("%q is taken for a currency", bad)
		}
	}
}

func TestAmountsTravelAsIntegers(t *testing.T) {
	b, err := json.Marshal(money.Movement{Kind: money.Captured, Ref: "r", Money: money.Money{Minor: 350, Currency: "CNY"}})
	if want := `{"kind":"captured","ref":"r","amount":350,"currency":"CNY"}`; err != nil || string(b) != want {
		t.Errorf("a movement is %s, %v", b, err)
	}
	var m money.Money
	for _, bad := range []string{`{"amount":3.5}`, `{"amount":1e400}`, `{"amount":"350"}`, `{"amount":9223372036854775808}`} {
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s is read as %v", bad, m)
		}
	}
}
