package drill

import (
	"fmt"
	"slices"
	"time"
)

// Finding is one broken promise.
type Finding struct {
	Promise string
	Fault   string // under which the event was acknowledged, if it is about one
	ID      string // of the event, if it is about one
	Detail  string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %s [%s]", f.Promise, f.ID, f.Detail, f.Fault)
}

// evidence is what the promises are checked on.
type evidence struct {
	plan   Plan
	events []Event
	state  State
	orders map[string]OrderRow
	facts  map[string]FactRow
}

// invariant is one promise of the design and how it is checked.
type invariant struct {
	promise string
	check   func(e evidence, broken func(id, fault, format string, args ...any))
}

// invariants lists all promises. The checks stand beside what they are about:
// of stock in balance.go, of what was acknowledged in kept.go, of money
// and motors in money.go, of rest in rest.go.
func invariants() []invariant {
	return []invariant{
		{"total = available + locked + sold, none negative", rowsAddUp},
		{"opening stock and the deduct log in force explain every stock row", logExplainsStock},
		{"the deduct log knows every line of every order and fact, once, as it stands", logKnowsAll},
		{"an order that was accepted by phone is in MySQL as accepted", phoneKept},
		{"a scan that was acknowledged has its order or its refusal", scanKept},
		{"a fact that was acknowledged is in MySQL once", factKept},
		{"money is never silent: it pays for its order, or it is back", moneyNeverSilent},
		{"paid = value of what dropped + refunds, at the provider too", moneyAddsUp},
		{"every line of a paid order dropped, or is refunded", linesEnded},
		{"what the motors dropped is what the cloud believes", motorsBelieved},
		{"nothing is in MySQL that nobody asked for", nothingFromNowhere},
		{"everybody got a definite answer", allAnswered},
		{"every order reached CONSUMED or ROLLBACKED", allFinal},
		{"no hold outlived its time by more than 60 s", holdsEnded},
		{"Redis sells what the ledger says, under the ledger's generation", redisAgrees},
		{"Redis waits to hear about nothing", nothingReserved},
		{"backlogs are empty and there are no dead letters", nothingLeft},
	}
}

// Check finds every broken promise in what the stores say, against the book.
func Check(plan Plan, events []Event, state State) []Finding {
	e := evidence{plan: plan, events: events, state: state, orders: map[string]OrderRow{}, facts: map[string]FactRow{}}
	for _, o := range state.Orders {
		e.orders[o.ID] = o
	}
	for _, f := range state.Facts {
		e.facts[f.ID] = f
	}
	var all []Finding
	for _, i := range invariants() {
		i.check(e, func(id, fault, format string, args ...any) {
			all = append(all, Finding{Promise: i.promise, ID: id, Fault: fault, Detail: fmt.Sprintf(format, args...)})
		})
	}
	return all
}

// Repaired is what step 8's guard took back, or booked as drift, in units.
type Repaired struct {
	At    time.Time
	ID    string
	Units int64
}

// Repairs lists what the guard had to repair: the system's own admission that
// Redis promised more than there was.
func Repairs(state State) []Repaired {
	var all []Repaired
	for _, o := range state.Orders {
		if o.Cause != "stock short" {
			continue
		}
		r := Repaired{At: time.UnixMilli(o.Changed), ID: o.ID}
		for _, l := range o.Lines {
			r.Units += l.Qty
		}
		all = append(all, r)
	}
	for _, f := range state.Facts {
		if f.Kind != "DRIFT" {
			continue
		}
		r := Repaired{At: time.UnixMilli(f.Created), ID: f.ID}
		for _, l := range f.Lines {
			r.Units += int64(l.Qty)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Repaired) int { return a.At.Compare(b.At) })
	return all
}
