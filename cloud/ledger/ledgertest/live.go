package ledgertest

import (
	"vendline/cloud/order"
)

// OrdersLive leads two orders through their lives, one paid and one given back, and
// checks what must hold.
func (f *Fixture) OrdersLive() {
	f.t.Helper()
	paid, back := f.place(line("cola", 1)), f.place(line("chips", 1))
	f.settleAll()
	f.move(paid.ID, order.PaySuccess)
	f.move(back.ID, order.Timeout)
	f.settleAll()
	if o := f.find(paid.ID); o.Status != order.Consumed {
		f.t.Errorf("%+v", o)
	}
	f.Invariants()
}
