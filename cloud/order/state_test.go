package order_test

import (
	"testing"

	"vendline/cloud/order"
)

func TestOfTheSixteenPairsFourAreTransitions(t *testing.T) {
	allowed := map[order.Status]map[order.Event]order.Status{
		order.Init:        {order.PreDeduct: order.PreReserved},
		order.PreReserved: {order.PaySuccess: order.Consumed, order.Timeout: order.RolledBack},
		order.RolledBack:  {order.RetryDeduct: order.PreReserved},
	}
	pairs := 0
	for _, s := range order.Statuses {
		for _, e := range order.Events {
			pairs++
			to, ok := order.Next(s, e)
			want, wantOK := allowed[s][e]
			if !wantOK {
				want = s
			}
			if ok != wantOK || to != want {
				t.Errorf("%s in %s leads to %s, %v", e, s, to, ok)
			}
		}
	}
	if pairs != 16 {
		t.Errorf("%d pairs", pairs)
	}
}

func TestAnOrderInForceTakesUnitsAndAFinalOneIsDoneWaiting(t *testing.T) {
	for s, want := range map[order.Status]struct{ force, final bool }{
		order.Init: {false, false}, order.PreReserved: {true, false}, order.Consumed: {true, true}, order.RolledBack: {false, true},
	} {
		if s.InForce() != want.force || s.Final() != want.final {
			t.Errorf("%s: in force %v, final %v", s, s.InForce(), s.Final())
		}
	}
}
