package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"vendline/shared/wire"
)

// Prices whose last two digits make the sandbox misbehave; see docs/payments.md.
const (
	priceLost = 1291 // the callback is never sent: the query finds the money
	priceLate = 1289 // callback 100 s late, and nothing answered before: paid after the hold is over
)

// stories are things that go wrong on purpose, so that a newcomer sees each end
// well. They are told on the console, with the address of the order's history.
func (d *Demo) stories(ctx context.Context) {
	for _, s := range []struct {
		after, every time.Duration
		tell         func(context.Context, *http.Client)
	}{
		{5 * time.Second, 3 * time.Minute, d.lostCallback},
		{8 * time.Second, 4 * time.Minute, func(ctx context.Context, c *http.Client) { d.latePayment(ctx, c, true) }},
		{20 * time.Second, 5 * time.Minute, func(ctx context.Context, c *http.Client) { d.latePayment(ctx, c, false) }},
		{12 * time.Second, 2 * time.Minute, d.failedMotor},
		{30 * time.Second, 2 * time.Minute, d.offlineCabinet},
	} {
		d.wg.Go(func() {
			client := &http.Client{Timeout: 70 * time.Second}
			pause(ctx, s.after)
			for ctx.Err() == nil {
				s.tell(ctx, client)
				pause(ctx, s.every)
			}
		})
	}
}

// say tells one line of a story.
func (d *Demo) say(format string, args ...any) {
	fmt.Fprintf(d.cfg.Out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

func (d *Demo) history(id string) string { return d.URL() + "/v1/orders/" + id + "/events" }

// buy orders by phone and pays at once.
func (d *Demo) buy(ctx context.Context, c *http.Client, cabinet, user, sku string) (id string, ok bool) {
	id, err := d.byPhone(ctx, c, cabinet, user, []wire.Line{{SKU: sku, Qty: 1}})
	if err == nil {
		err = d.pay(ctx, c, id)
	}
	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Info("a story has to wait", "sku", sku, "error", err)
	}
	return id, err == nil
}

// seen is an order as its shopper sees it.
type seen struct {
	Order struct {
		Status string
		Lines  []struct{ SKU, State string }
	}
	Payment struct{ Status string }
}

// until looks at an order until done says so; there says whether its shopper is
// standing at the cabinet, waiting for it.
func (d *Demo) until(ctx context.Context, c *http.Client, id string, limit time.Duration, there bool, done func(seen) bool) bool {
	wait := ""
	if there {
		wait = "?wait=2s"
	}
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; {
		var o seen
		if !there {
			pause(ctx, 2*time.Second)
		}
		if err := call(ctx, c, "GET", d.URL()+"/v1/orders/"+id+wait, "", nil, &o); err == nil && done(o) {
			return true
		}
		pause(ctx, 500*time.Millisecond)
	}
	return false
}

func (o seen) all(state string) bool {
	for _, l := range o.Order.Lines {
		if l.State != state {
			return false
		}
	}
	return len(o.Order.Lines) > 0
}

func (d *Demo) lostCallback(ctx context.Context, c *http.Client) {
	id, ok := d.buy(ctx, c, "C001", "story-lost", "puzzle")
	if ok && d.until(ctx, c, id, 2*time.Minute, true, func(o seen) bool { return o.all("dispensed") }) {
		d.say("the callback of a payment was lost; the query found the money, and it was dispensed: %s", d.history(id))
	}
}

// latePayment pays in time, and the money comes after the hold is over.
func (d *Demo) latePayment(ctx context.Context, c *http.Client, there bool) {
	user := map[bool]string{true: "story-late", false: "story-gone"}[there]
	id, ok := d.buy(ctx, c, "C002", user, "globe")
	if !ok || !d.until(ctx, c, id, 2*time.Minute, there, func(o seen) bool { return o.Order.Status == "ROLLBACKED" }) {
		return
	}
	if !d.until(ctx, c, id, 3*time.Minute, there, func(o seen) bool { return o.all("dispensed") || o.Payment.Status == "refunded" }) {
		return
	}
	if there {
		d.say("a payment came after its hold was over; its shopper was still there, so the stock was taken again and vended: %s", d.history(id))
	} else {
		d.say("a payment came after its hold was over and its shopper had gone: refunded: %s", d.history(id))
	}
}

func (d *Demo) failedMotor(ctx context.Context, c *http.Client) {
	id, ok := d.buy(ctx, c, brokenCabinet, "story-motor", brokenSKU)
	if ok && d.until(ctx, c, id, 2*time.Minute, true, func(o seen) bool { return o.all("refunded") || o.all("dispensed") }) {
		var o seen
		if call(ctx, c, "GET", d.URL()+"/v1/orders/"+id, "", nil, &o) == nil && o.all("refunded") {
			d.say("a motor stalled at %s; the line was refunded and the slot suspended: %s", brokenCabinet, d.history(id))
		}
	}
}

// offlineCabinet pulls a cabinet's cable, lets it sell within its allowance, and
// plugs it in again.
func (d *Demo) offlineCabinet(ctx context.Context, c *http.Client) {
	a := d.Agents[d.cabled]
	before, err := d.sold(ctx, a.ID)
	if err != nil {
		return
	}
	d.cable.pull()
	d.say("the network of %s was cut", a.ID)
	pause(ctx, 12*time.Second)
	units := 0
	for _, p := range shelf() {
		body, _ := json.Marshal(map[string]any{"lines": []wire.Line{{SKU: p.SKU, Qty: 1}}})
		if err := call(ctx, c, "POST", a.URL()+"/v1/offline-sales", "", body, nil); err == nil {
			units++
		}
	}
	pause(ctx, 8*time.Second)
	d.cable.plug()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, time.Second) {
		if after, err := d.sold(ctx, a.ID); err == nil && after >= before+int64(units) && a.Depth() == 0 {
			d.say("%s is back: %d sales it made on its own are booked, and its stock is what is in it", a.ID, units)
			return
		}
	}
}

func (d *Demo) sold(ctx context.Context, cabinet string) (n int64, err error) {
	rows, err := d.Cloud.Ledger.Stock(ctx, cabinet)
	for _, r := range rows {
		n += r.Sold
	}
	return n, err
}
