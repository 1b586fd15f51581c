package drill

import (
	"testing"
	"time"

	"vendline/shared/wire"
)

func TestAReplayWithOtherBytesIsABrokenPromise(t *testing.T) {
	b := NewBook()
	b.Begin(Event{ID: "a", Kind: Phone})
	b.Said("a", []byte("one"))
	b.Said("a", []byte("one"))
	if _, broken := b.Events(); len(broken) != 0 {
		t.Errorf("an equal replay: %v", broken)
	}
	b.Said("a", []byte("two"))
	if _, broken := b.Events(); len(broken) != 1 {
		t.Errorf("another reply: %v", broken)
	}
}

func TestANoAfterAYesIsABrokenPromiseUnlessTheyCrossed(t *testing.T) {
	b := NewBook()
	before := time.Now()
	b.Begin(Event{ID: "a", Kind: Phone})
	b.Said("a", []byte("one"))
	b.Refused("a", wire.CodeStockShort, before)
	if _, broken := b.Events(); len(broken) != 0 {
		t.Errorf("two taps crossed: %v", broken)
	}
	b.Refused("a", wire.CodeStockShort, time.Now())
	events, broken := b.Events()
	if len(broken) != 1 || events[0].Outcome != Yes {
		t.Errorf("asked again after the yes: %v, %+v", broken, events)
	}
}

func TestAYesAfterANoCounts(t *testing.T) {
	b := NewBook()
	b.Begin(Event{ID: "a", Kind: Phone})
	b.Refused("a", wire.CodeStockShort, time.Now())
	b.Said("a", []byte("one"))
	events, broken := b.Events()
	if len(broken) != 0 || events[0].Outcome != Yes || b.Answered() != 2 {
		t.Errorf("%v, %+v", broken, events)
	}
}

func TestWhatIsAnsweredBelongsToTheFaultOfThatMoment(t *testing.T) {
	b := NewBook()
	calm := time.Now()
	b.Begin(Event{ID: "a", Kind: Phone})
	b.Phase("storm")
	b.Said("a", nil)
	events, _ := b.Events()
	if events[0].Fault != "storm" || b.FaultAt(calm.Add(-time.Second)) != "" || b.FaultAt(time.Now()) != "storm" {
		t.Errorf("%+v", events[0])
	}
}

func TestOnlyADefiniteAnswerIsOne(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   Outcome
	}{
		{201, `{"order":{}}`, Yes},
		{202, `{}`, Yes},
		{409, `{"code":"stock_short","retryable":false}`, No},
		{409, `{"code":"fenced","retryable":true}`, Unanswered},
		{429, ``, Unanswered},
		{404, `<html>`, Unanswered},
		{503, `{"code":"unavailable","retryable":true}`, Unanswered},
		{507, `{"code":"outbox_full","retryable":true}`, Unanswered},
	} {
		if got := judge(c.status, []byte(c.body)); got.outcome != c.want {
			t.Errorf("%d %s is %q, want %q", c.status, c.body, got.outcome, c.want)
		}
	}
}

func TestOneSeedDrawsOneRun(t *testing.T) {
	draw := func(p Plan) (all []wish) {
		r := p.Rand(7)
		for range 50 {
			all = append(all, p.wish(r), p.delivery(r))
		}
		return all
	}
	same := func(a, b []wish) bool {
		for i := range a {
			if string(phoneBody(a[i])) != string(phoneBody(b[i])) {
				return false
			}
		}
		return true
	}
	next := NewPlan(5)
	next.Turn = 1
	if !same(draw(NewPlan(5)), draw(NewPlan(5))) || same(draw(NewPlan(5)), draw(NewPlan(6))) || same(draw(NewPlan(5)), draw(next)) {
		t.Error("baskets do not follow the seed and the cycle")
	}
}

func TestOversoldIsWhatIsPromisedBeyondWhatThereWas(t *testing.T) {
	p := NewPlan(1)
	sums := map[shelf]int64{{"D001", "sku-1"}: -p.Units, {"D001", "sku-2"}: 5}
	if n := oversold(p, sums); n != 0 {
		t.Errorf("the last unit is no oversell, got %d", n)
	}
	sums[shelf{"D002", "sku-1"}] = -p.Units - 3
	if n := oversold(p, sums); n != 3 {
		t.Errorf("oversold by %d, want 3", n)
	}
}
