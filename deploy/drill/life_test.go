package drill

import (
	"context"
	"fmt"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/payment"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// life is one order, from the phone to the last refund, in steps that something
// can be killed between. The last of its units jams, the others drop.
type life struct {
	r       *run
	cabinet string
	sku     string
	qty     int
	id      string
	command command
}

// lives kills vend-cloud between every two steps of pay, command, result and
// refund; and cuts the cabinet off in the middle of dispensing. It runs while
// nobody else orders, and no other motor turns.
func (r *run) lives(t *testing.T) {
	cloud := func(s *Site) *stack.Server { return s.Cloud }
	broker := func(s *Site) *stack.Server { return s.Stack.Mosquitto }
	for n, step := range lifeSteps {
		if n < len(lifeSteps)-1 {
			t.Run("vend-cloud is killed once it is "+step.name, func(t *testing.T) { r.live(t, n, cloud, "sku-1", 2) })
		}
	}
	t.Run("the cabinet is cut off while it dispenses", func(t *testing.T) { r.live(t, stepOf("handed out"), broker, "sku-2", 2) })
	t.Run("the cabinet is cut off with its result on its disk", func(t *testing.T) { r.live(t, stepOf("reported"), broker, "sku-2", 2) })
	t.Run("twenty equal callbacks come at once", func(t *testing.T) { r.live(t, -1, nil, floodSKU, 3) })
}

// lifeSteps are in order; each is repeated until it is done.
var lifeSteps = []struct {
	name string
	do   func(*life, context.Context) bool
}{
	{"ordered", (*life).order},
	{"charged", (*life).charge},
	{"paid", (*life).pay},
	{"consumed", (*life).consumed},
	{"handed out", (*life).handOut},
	{"reported", (*life).report},
	{"refunded", (*life).refunded},
}

func stepOf(name string) int {
	for n, s := range lifeSteps {
		if s.name == name {
			return n
		}
	}
	panic("drill: there is no step " + name)
}

// live lives one life, killing part right after step after, and checks its end.
func (r *run) live(t *testing.T, after int, part func(*Site) *stack.Server, sku string, qty int) {
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	l := &life{r: r, cabinet: r.site.Plan.Cabinets[0], sku: sku, qty: qty, id: app.NewID()}
	began, times := time.Now(), ""
	for n, step := range lifeSteps {
		for !step.do(l, ctx) {
			if ctx.Err() != nil {
				t.Fatalf("order %s is never %s", l.id, step.name)
			}
			time.Sleep(20 * time.Millisecond)
		}
		times += fmt.Sprintf(", %s %.2f s", step.name, time.Since(began).Seconds())
		if n == after {
			if err := powerCut(ctx, part(r.site), 300*time.Millisecond, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("order %s%s", l.id, times)
	if err := l.whole(ctx); err != nil {
		t.Error(err)
	}
}

func (l *life) cloud(path string) string { return l.r.site.CloudURL() + path }
func (l *life) agent(path string) string { return l.r.site.AgentURLs()[l.cabinet] + path }

func (l *life) order(ctx context.Context) bool {
	w := wish{cabinet: l.cabinet, user: "life-" + l.id[24:], lines: []wire.Line{{SKU: l.sku, Qty: l.qty}}}
	l.r.book.Begin(Event{ID: l.id, Key: l.id, Kind: Phone, Cabinet: w.cabinet, User: w.user, Lines: w.lines})
	a := l.r.site.call.post(ctx, l.cloud("/v1/orders"), l.id, phoneBody(w))
	if a.outcome == Yes {
		l.r.book.Said(l.id, a.body)
	}
	return a.outcome == Yes
}

func (l *life) charge(ctx context.Context) bool {
	return l.r.site.call.post(ctx, l.cloud("/v1/orders/"+l.id+"/payments"), "", []byte(`{"provider":"sandbox"}`)).outcome == Yes
}

func (l *life) pay(context.Context) bool {
	if l.r.till.server.Pay(payment.TradeNo(l.id)) != nil {
		return false
	}
	l.r.book.Paid(l.id)
	return true
}

func (l *life) consumed(ctx context.Context) bool {
	var o struct {
		Order struct{ Status string }
	}
	return l.r.site.call.get(ctx, l.cloud("/v1/orders/"+l.id), &o) == nil && o.Order.Status == "CONSUMED"
}

func (l *life) handOut(ctx context.Context) bool {
	var got struct {
		Commands []command `json:"commands"`
	}
	if l.r.site.call.get(ctx, l.agent("/v1/commands?wait=1s"), &got) != nil {
		return false
	}
	for _, c := range got.Commands {
		if c.Order == l.id {
			l.command = c
			l.r.book.Dropped(l.id, l.sku, l.qty-1)
		}
	}
	return l.command.ID != ""
}

func (l *life) report(ctx context.Context) bool {
	lines := []result{{SKU: l.sku, State: wire.Failed, Units: l.qty - 1, Detail: "the last one jammed"}}
	return l.r.site.call.post(ctx, l.agent("/v1/commands/"+l.command.ID+"/result"), "", encode(map[string]any{"lines": lines})).outcome == Yes
}

func (l *life) refunded(context.Context) bool {
	return l.r.till.Refunded(l.id) == l.r.site.Plan.Price(l.sku)
}

// whole checks that nothing happened twice, or only by half.
func (l *life) whole(ctx context.Context) error {
	for _, want := range []struct {
		what, query string
		n           int64
	}{
		{"dispense commands", "SELECT COUNT(*) FROM trade_command WHERE order_sn = ?", 1},
		{"refunds", "SELECT COUNT(*) FROM trade_refund WHERE order_sn = ?", 1},
		{"captures", "SELECT COUNT(*) FROM money_movement WHERE kind = 'captured' AND order_sn = ?", 1},
		{"transitions to CONSUMED", `SELECT COUNT(*) FROM trade_order_event WHERE order_sn = ? AND body LIKE '%"to":"CONSUMED"%'`, 1},
		{"units that dropped", "SELECT COALESCE(SUM(dropped), 0) FROM trade_order_line WHERE order_sn = ?", int64(l.qty - 1)},
	} {
		var n int64
		if err := l.r.site.db.QueryRowContext(ctx, want.query, l.id).Scan(&n); err != nil {
			return err
		}
		if n != want.n {
			return fmt.Errorf("order %s has %d %s, want %d", l.id, n, want.what, want.n)
		}
	}
	freed := l.r.site.call.post(ctx, l.agent("/v1/facts"), "freed "+l.command.ID, encode(map[string]string{"kind": string(wire.FactSlotFault), "slot": l.sku, "fault": ""}))
	if freed.outcome != Yes {
		return fmt.Errorf("the slot of %s was not freed: %s", l.sku, freed.body)
	}
	return nil
}
