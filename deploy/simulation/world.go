package simulation

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"vendline/cloud/ledger"
	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Times of a simulated service.
const (
	hold  = 15 * time.Minute
	grace = 45 * time.Second
)

// epoch is when every history begins.
var epoch = time.UnixMilli(1_800_000_000_000).UTC()

// opening is what each cabinet starts with.
func opening() ledgertest.Stock { return ledgertest.Stock{"cola": 12, "chips": 8} }

func cabinetIDs() []string { return []string{"C1", "C2"} }

func products() []order.Product {
	return []order.Product{
		{SKU: "cola", Name: "Cola", Price: 250, Currency: "EUR"},
		{SKU: "chips", Name: "Chips", Price: 300, Currency: "EUR", UserLimit: 4},
	}
}

// world is what outlives every process: stores, wires, time, and chance.
type world struct {
	ctx   context.Context
	opt   Options
	rng   *rand.Rand
	dir   string
	file  string // the database
	db    *sql.DB
	redis *miniredis.Miniredis
	queue *queueing
	till  *till
	post  []letter // under way between cabinets and cloud

	clouds   []*cloud
	cabinets []*cabinet
	people   *people
	model    *model

	tasks   []*task
	running *task
	back    chan struct{} // the running task has parked or ended
	deep    int           // something holds a lock: nobody else goes on

	mu     sync.Mutex // guards the clock and ids: they are asked by goroutines of the product
	now    time.Time
	serial int64

	calm      bool // faults have ended
	dumps     []dump
	server    int   // which start of Redis this is: what its run id would say
	evicted   int64 // keys that it has dropped, as it says itself
	away      bool  // Redis does not answer
	lossy     bool  // Redis has lost something in this history
	unmet     bool  // … which nobody has been told
	fired     map[Fault]int
	abandoned bool // a paid order was given up: what dropped of it is unknown
	wrong     []string
	sum       hash.Hash
	steps     int

	refused []string // statements that the database would not take
	unwatch func()
	over    int // orders promised beyond what is there, after a loss of Redis
	lost    int // holds that were taken back for want of stock
}

// empty is a database with its schema, cabinets and catalogue, copied for each
// world.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "vendline-sim-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "l.db")
	serial := 0
	l, err := ledger.Open(ctx, ledger.SQLite(), file, ledger.Options{
		Clock: func() time.Time { return epoch }, Token: func() string { return "a0" },
		ID: func() string { serial++; return fmt.Sprintf("0000000a-0000-7000-8000-%012x", serial) },
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.AddProducts(ctx, products()...); err != nil {
		return nil, err
	}
	for _, c := range cabinetIDs() {
		if err := l.AddCabinet(ctx, c, opening()); err != nil {
			return nil, err
		}
	}
	l.Close()
	return os.ReadFile(file)
})

func newWorld(seed uint64, opt Options, dir string) (*world, error) {
	w := &world{ctx: context.Background(), opt: opt, rng: rand.New(rand.NewPCG(seed, 11)), dir: dir, now: epoch.Add(time.Hour),
		back: make(chan struct{}), fired: map[Fault]int{}, sum: sha256.New(), server: 1}
	schema, err := empty()
	if err != nil {
		return nil, err
	}
	w.file = filepath.Join(dir, "l.db")
	if err := os.WriteFile(w.file, schema, 0o600); err != nil {
		return nil, err
	}
	if w.db, err = sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(10000)"); err != nil {
		return nil, err
	}
	w.unwatch = watch(w.file, func(err error) { w.refused = append(w.refused, err.Error()) })
	w.redis = miniredis.NewMiniRedis()
	if err := w.redis.Start(); err != nil {
		return nil, err
	}
	w.queue, w.till, w.people, w.model = &queueing{w: w}, newTill(w), newPeople(w), newModel()
	for _, id := range cabinetIDs() {
		c, err := newCabinet(w, id)
		if err != nil {
			return nil, err
		}
		w.cabinets = append(w.cabinets, c)
	}
	for _, name := range []string{"A", "B"} {
		p, err := w.start(name)
		if err != nil {
			return nil, err
		}
		w.clouds = append(w.clouds, p)
	}
	return w, nil
}

func (w *world) close() {
	for _, p := range w.clouds {
		p.end()
	}
	for _, c := range w.cabinets {
		c.close()
	}
	w.unwatch()
	w.redis.Close()
	_ = w.db.Close()
}

// Now is the world's time.
func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
	w.redis.FastForward(d)
}

// id mints a UUIDv7.
func (w *world) id() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	at := w.now.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, w.serial)
}

func (w *world) token() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return fmt.Sprintf("%012x", w.serial)
}

// trace writes a line of the history.
func (w *world) trace(who, what, outcome string) {
	w.steps++
	line := fmt.Sprintf("%-12s %-5s %-30s %s", w.Now().Sub(epoch).Round(time.Millisecond), who, what, outcome)
	_, _ = w.sum.Write([]byte(line + "\n"))
	if w.opt.Trace != nil {
		w.opt.Trace(line)
	}
}

func (w *world) hash() string { return hex.EncodeToString(w.sum.Sum(nil))[:16] }

// fire lets a fault happen once in n, and counts it.
func (w *world) fire(f Fault, n int) bool {
	if w.calm || w.rng.IntN(n) > 0 {
		return false
	}
	w.fired[f]++
	return true
}

// say notes a promise that was broken.
func (w *world) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(w.wrong, text) {
		w.wrong = append(w.wrong, text)
		w.trace("*", "BROKEN", text)
	}
}

// check reports what the simulation itself cannot do without.
func (w *world) check(what string, err error) {
	if err != nil {
		w.say("the simulation: %s: %v", what, err)
	}
}

// said is an outcome in a word, the same for the same history.
func said(err error) string {
	var no *order.Refusal
	var state *order.StateError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return string(no.Code)
	case errors.As(err, &state):
		return "refused: it is " + string(state.Order.Status)
	case errors.Is(err, errKilled):
		return "died"
	case errors.Is(err, errAway):
		return "no answer"
	case errors.Is(err, order.ErrUnknown):
		return "unknown order"
	}
	return "error: " + strings.SplitN(err.Error(), "\n", 2)[0]
}

func lines(cola, chips int) (out []wire.Line) {
	if chips > 0 {
		out = append(out, wire.Line{SKU: "chips", Qty: chips})
	}
	if cola > 0 {
		out = append(out, wire.Line{SKU: "cola", Qty: cola})
	}
	return out
}

func text(ls []wire.Line) string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, " %d %s", l.Qty, l.SKU)
	}
	return b.String()
}
