package payment_test

import (
	"context"
	"encoding/json"
	"testing"

	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
)

// callbacks is a ledger that keeps one callback; to ask it for anything that
// only money asks for is to fail.
type callbacks struct {
	payment.Ledger
	kept    payment.Kept
	outcome string
}

func (c *callbacks) Notice(context.Context, string, string) (payment.Kept, error) { return c.kept, nil }

func (c *callbacks) FinishNotice(_ context.Context, _, _, outcome, _ string) error {
	c.outcome = outcome
	return nil
}

// Providers sign notices of refunds and of closed charges, too. They name no
// amount: taken for money, they would dispute a charge that is paid.
func TestACallbackThatBringsNoMoneyBooksNone(t *testing.T) {
	for _, state := range []payment.ChargeState{"", payment.Closed, payment.Unpaid} {
		l := &callbacks{}
		l.kept.TradeNo, l.kept.Charged = "0190a7d24b1c70008000012345678901", payment.Charged{State: state, Amount: money.Money{Currency: "CNY"}}
		at, err := json.Marshal(payment.NoticeRow{Provider: "alipay", ID: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		s := &payment.Service{Ledger: l}
		if err := s.CarryNotices(t.Context(), []outbox.Row{{ID: "r1", Payload: at}}); err != nil {
			t.Error(err)
		}
		if l.outcome != "no_money" {
			t.Errorf("state %q: outcome %q", state, l.outcome)
		}
	}
}
