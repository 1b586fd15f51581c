// Package model is the stock design as a small executable model: one cabinet,
// one SKU, versioned statements, generation tokens, tickets, rebuild and exact
// reconcile. Any interleaving of its steps and any crash between two of them
// can happen, Redis may go back in time, the queue duplicates, reorders and
// regroups; and still both sides end exact.
//
// It is the reference to change first when a rule of the design changes. Each
// Bug is a rule left out, and the histories must catch it.
package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Bug is a planted mistake.
type Bug string

// The mistakes that histories catch.
const (
	CheckBeforeMarker     Bug = "stock is checked before the marker"
	RetryTakesTwice       Bug = "a retry that overtakes its rollback takes again"
	RollbackWithoutMarker Bug = "a release adds units whatever the marker says"
	AdjustTwice           Bug = "a fact's effect is added again"
	SettleUncounted       Bug = "settling does not raise the mutation counter"
	NoGeneration          Bug = "an effect under a stale generation counts"
	NoTicket              Bug = "a ticket drawn twice counts"
	FallbackKeepsToken    Bug = "an order placed without Redis keeps the generation"
	CommandMerge          Bug = "statements are added up as commands"
	RebuildForgetsPending Bug = "a rebuild forgets which facts it has counted"
)

// Bugs lists all of them.
var Bugs = [...]Bug{
	CheckBeforeMarker, RetryTakesTwice, RollbackWithoutMarker, AdjustTwice, SettleUncounted,
	NoGeneration, NoTicket, FallbackKeepsToken, CommandMerge, RebuildForgetsPending,
}

// State is where an order stands; facts have one state.
type State byte

// States. The zero State is "nothing known".
const (
	Unknown State = iota
	Held          // PRE_RESERVED
	Paid          // CONSUMED
	Rolled        // ROLLBACKED
	Fact
)

// takes is how many units of an order in s are not available.
func (s State) takes(q int) int {
	if s == Held || s == Paid {
		return q
	}
	return 0
}

// entry is an order, a row of the deduct log, or what a statement says.
type entry struct {
	id    string
	q     int
	state State
	ver   int
}

// kind of an outbox row.
type kind byte

const (
	stock   kind = iota // a statement for step 8
	release             // for Redis: a hold given back
	adjust              // for Redis: a fact's units
)

type row struct {
	n    int
	kind kind
	entry
}

// run is the generation an effect ran under and the ticket it drew; 0 is none.
type run struct {
	token  string
	ticket int
}

// world is everything there is: MySQL, Redis, the queue, and what is under way.
type world struct {
	rng *rand.Rand
	bug Bug
	err error // the first violation

	start, total, avail, locked, sold int

	orders  map[string]*entry
	log     map[string]entry
	facts   map[string]int // units added to what is available; a sale is negative
	tickets map[run]string
	outbox  []row
	token   string
	lock    *int // the cabinet's row is held exclusively by a rebuild

	redis redis
	snaps []redis // dumps that a failing Redis may come back with
	queue []entry

	ops    []*op
	dirty  bool // Redis lost writes since the last rebuild
	serial int

	Stats
}

// Stats say what a history met.
type Stats struct {
	Shortages int // holds that lost
	Oversold  int // … though the cabinet sold nothing on its own: a loss of Redis was told too late
	Drift     int // units booked that nobody could lose
	Caught    int // losses of Redis that a ticket told
	Repairs   int
}

func newWorld(seed uint64, bug Bug) *world {
	rng := rand.New(rand.NewPCG(seed, 0))
	n := []int{3, 5, 20}[rng.IntN(3)]
	w := &world{
		rng: rng, bug: bug, start: n, total: n, avail: n, token: "t0",
		orders: map[string]*entry{}, log: map[string]entry{}, facts: map[string]int{}, tickets: map[run]string{},
		redis: redis{token: "t0", stock: n, marks: map[string]mark{}, resv: map[string]bool{}},
	}
	w.snaps = []redis{w.redis.clone()}
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *world) mint(prefix string) string {
	w.serial++
	return fmt.Sprint(prefix, w.serial)
}

func (w *world) draw() { w.token = w.mint("t") }

func (w *world) add(k kind, e entry) {
	w.serial++
	w.outbox = append(w.outbox, row{w.serial, k, e})
}

func (w *world) remove(n int) {
	w.outbox = slices.DeleteFunc(w.outbox, func(r row) bool { return r.n == n })
}

// sorted keeps histories repeatable.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// some picks one of ids, "" if there is none.
func (w *world) some(ok func(*entry) bool) *entry {
	var found []*entry
	for _, id := range sorted(w.orders) {
		if o := w.orders[id]; ok(o) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.rng.IntN(len(found))]
}

// truth is what can be sold, from orders and facts alone.
func (w *world) truth() int {
	n := w.start
	for _, u := range w.facts {
		n += u
	}
	for _, o := range w.orders {
		n -= o.state.takes(o.q)
	}
	return n
}
