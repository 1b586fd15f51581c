// Package reconcile compares the stock in Redis with the ledger, to the unit, and
// repairs what differs. There is no tolerance: a consistent system has no
// differences at all, under load too, because the comparison is of one instant.
//
// Redis stood still at the instant of the ledger's snapshot if its mutation
// counter and generation were the same before and after it. Then it must have
// what the ledger allows to be sold, corrected by what is known to be under way:
// holds that Redis has and the ledger does not yet, and effects that the ledger
// has decided and Redis may have heard of or not (see expected). A cabinet that
// never stands still is frozen for the few milliseconds that this takes, under
// its row's lock (see frozen.go).
package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"vendline/cloud/effect"
	"vendline/shared/wire"
)

// ErrMoved says that a cabinet's stock in Redis is not what it was.
var ErrMoved = errors.New("reconcile: the stock has changed meanwhile")

// View is a cabinet's stock in Redis at one instant, without markers.
type View struct {
	Generation string
	Mutations  int64
	Sellable   map[string]int64
	Reserved   []string // ids deducted, and not known to be in the deduct log
}

// Mark is what Redis knows of an id.
type Mark struct {
	Held    bool // its units are taken
	Done    bool // a fact's or a repair's units are added
	Version int64
	Lines   []wire.Line
}

// Marks are markers, and when they were read.
type Marks struct {
	Generation string
	Mutations  int64
	ByID       map[string]Mark // one without a marker is missing
}

// Books are the ledger's side of a cabinet.
type Books struct {
	Generation string
	Sellable   map[string]int64     // what the truth allows to be sold
	Orders     map[string]Order     // of the ids asked for and of Releases, if they are this cabinet's
	Releases   map[string]bool      // orders whose release Redis may not have heard of
	Adjusts    map[string][]Units   // facts whose effect Redis may not have heard of
	Open       map[string]time.Time // findings of earlier looks that are not known to be repaired
}

// Order is where the ledger has an order.
type Order struct {
	Version int64
	InForce bool // its lines are taken
	Lines   []wire.Line
}

// Units are signed units of a SKU.
type Units = effect.Delta

// Repair adds units to a cabinet that still is as a View had it, once per ID.
type Repair struct {
	ID, Cabinet, Generation string
	Mutations               int64
	Deltas                  []Units
}

// Stock is Redis.
type Stock interface {
	// Views reads many cabinets; one that is not loaded is missing.
	Views(ctx context.Context, cabinets []string) (map[string]View, error)
	// MarksOf reads markers of ids by cabinet. One whose stock changed in between,
	// or is not loaded, is missing.
	MarksOf(ctx context.Context, ids map[string][]string) (map[string]Marks, error)
	// Mend carries out a repair. Error: ErrMoved.
	Mend(ctx context.Context, r Repair) error
	// Freeze keeps every script from changing a cabinet's stock, or answering of
	// it, until Thaw or a rebuild. ok is false when it is not loaded.
	Freeze(ctx context.Context, cabinet, token string) (v View, ok bool, err error)
	// Thaw ends a freeze. Error: ErrMoved when there has been a rebuild meanwhile.
	Thaw(ctx context.Context, cabinet, token string) error
}

// Ledger is the truth.
type Ledger interface {
	// Books reads many cabinets at one instant; ids are orders to look up.
	Books(ctx context.Context, ids map[string][]string) (map[string]Books, error)
	// Locked runs work under a cabinet's exclusive lock: no placement and no effect
	// on Redis counts meanwhile.
	Locked(ctx context.Context, cabinet string, work func(context.Context, Desk) error) error
	// NoteFinding writes a finding down; when it returns nil, that is durable.
	// MarkFinding says what became of an open one.
	NoteFinding(ctx context.Context, f Finding) error
	MarkFinding(ctx context.Context, id string, s State) error
}

// Finding is a difference at one cabinet.
type Finding struct {
	ID      string // also the repair's
	Cabinet string
	State   State
	Lines   []Difference
	At      time.Time
}

// Difference is one SKU's.
type Difference struct {
	SKU      string
	Expected int64 // by the ledger
	Found    int64 // in Redis
}

// State of a finding.
type State string

// States.
const (
	Open      State = "open"      // written down; the repair may have happened or not
	Repaired  State = "repaired"  // Redis has what was missing
	Overtaken State = "overtaken" // Redis changed before the repair; looked at anew
	DryRun    State = "dry_run"   // only looked for
)

// expected is what Redis must have at the instant of v and b, by SKU.
func expected(v View, b Books, marks map[string]Mark) map[string]int64 {
	want := maps.Clone(b.Sellable)
	if want == nil {
		want = map[string]int64{}
	}
	ids := map[string]bool{}
	for _, id := range v.Reserved {
		ids[id] = true
	}
	for id := range b.Releases {
		ids[id] = true
	}
	for id := range ids {
		o, ordered := b.Orders[id]
		m, marked := marks[id]
		pending := b.Releases[id]
		if !(marked && (!ordered || m.Version > o.Version || pending)) && !(pending && !marked) {
			continue // Redis must have it as the order says, and Sellable does
		}
		if o.InForce {
			add(want, o.Lines, 1)
		}
		if marked && m.Held {
			add(want, m.Lines, -1)
		}
	}
	for id, units := range b.Adjusts {
		if marks[id].Done {
			continue
		}
		for _, u := range units { // Sellable counts it, Redis has not heard of it
			want[u.SKU] -= u.Units
		}
	}
	return want
}

func add(to map[string]int64, lines []wire.Line, sign int64) {
	for _, l := range lines {
		to[l.SKU] += sign * int64(l.Qty)
	}
}

// compare lists what differs. A SKU that only one side knows has 0 at the other.
func compare(v View, b Books, marks map[string]Mark) (out []Difference) {
	want := expected(v, b, marks)
	skus := map[string]bool{}
	for sku := range want {
		skus[sku] = true
	}
	for sku := range v.Sellable {
		skus[sku] = true
	}
	for _, sku := range slices.Sorted(maps.Keys(skus)) {
		if want[sku] != v.Sellable[sku] {
			out = append(out, Difference{SKU: sku, Expected: want[sku], Found: v.Sellable[sku]})
		}
	}
	return out
}

// ask lists the ids whose markers a comparison needs.
func ask(v View, b Books) []string {
	ids := slices.Clone(v.Reserved)
	for id := range b.Releases {
		ids = append(ids, id)
	}
	for id := range b.Adjusts {
		ids = append(ids, id)
	}
	for id := range b.Open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
