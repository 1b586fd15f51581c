package drill

import "slices"

// Purse is an order's money, as our books and as the provider have it.
type Purse struct {
	Captured int64 // our books
	Refunded int64 // our books
	Returned int64 // the provider's
}

// LineEnd is what became of one line at the cabinet.
type LineEnd struct {
	State   string
	Dropped int64
}

// moneyNeverSilent: what the provider was paid pays for its order, or is back.
func moneyNeverSilent(e evidence, broken report) {
	for _, ev := range e.events {
		if !ev.Paid {
			continue
		}
		o, p := e.orders[ev.ID], e.state.Purses[ev.ID]
		switch {
		case p.Captured != o.Amount:
			broken(ev.ID, ev.Fault, "LOST: the provider was paid %d, our books have %d", o.Amount, p.Captured)
		case o.Status != "CONSUMED" && p.Returned != o.Amount:
			broken(ev.ID, ev.Fault, "LOST: paid %d, the order is %s (%s), and %d went back", o.Amount, o.Status, o.Cause, p.Returned)
		}
	}
}

// moneyAddsUp: paid = value of what dropped + refunds, and both sides say so.
func moneyAddsUp(e evidence, broken report) {
	for _, o := range e.state.Orders {
		p := e.state.Purses[o.ID]
		if p.Refunded != p.Returned {
			broken(o.ID, "", "our books gave %d back, the provider %d", p.Refunded, p.Returned)
		}
		value := int64(0)
		for _, l := range o.Lines {
			value += e.state.Ends[o.ID][l.SKU].Dropped * l.Price
		}
		if p.Captured != value+p.Refunded {
			broken(o.ID, "", "paid %d, dropped for %d, refunded %d", p.Captured, value, p.Refunded)
		}
	}
}

// linesEnded: every line of a paid order dropped whole, or the rest is paid back.
func linesEnded(e evidence, broken report) {
	for _, o := range e.state.Orders {
		if o.Status != "CONSUMED" {
			continue
		}
		for _, l := range o.Lines {
			end := e.state.Ends[o.ID][l.SKU]
			if !slices.Contains([]string{"dispensed", "refunded"}, end.State) {
				broken(o.ID, "", "%d of %s are %s, %d dropped", l.Qty, l.SKU, end.State, end.Dropped)
			}
		}
	}
}

// motorsBelieved: the cloud has as dropped what dropped, of every line.
func motorsBelieved(e evidence, broken report) {
	for _, ev := range e.events {
		for _, l := range ev.Lines {
			if got, did := e.state.Ends[ev.ID][l.SKU].Dropped, int64(ev.Dropped[l.SKU]); got != did {
				broken(ev.ID, ev.Fault, "%d of %s dropped, the cloud has %d", did, l.SKU, got)
			}
		}
	}
}
