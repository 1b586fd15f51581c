package drill

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"vendline/shared/wire"
)

// Kind says what was asked for, and where.
type Kind string

// Kinds of events.
const (
	Phone   Kind = "phone"   // POST /v1/orders at the cloud
	Scan    Kind = "scan"    // POST /v1/scan-orders at a cabinet's agent
	Restock Kind = "restock" // POST /v1/facts there
)

// Outcome is the definite answer that somebody heard.
type Outcome string

// Outcomes. A scan's or a fact's yes is its 202: it is on the cabinet's disk.
const (
	Unanswered Outcome = ""
	Yes        Outcome = "yes"
	No         Outcome = "no"
)

// Event is one thing that was asked for, and what its asker was told.
type Event struct {
	ID      string
	Key     string // Idempotency-Key it is asked under
	Kind    Kind
	Cabinet string
	User    string
	Lines   []wire.Line // merged and sorted
	Outcome Outcome
	Code    wire.Code      // of a no
	Reply   []byte         // phone: the bytes of the first yes
	Paid    bool           // the provider has its money
	Dropped map[string]int // units that came out of the cabinet, by SKU
	Fault   string         // the fault under which it was answered
	Since   time.Time      // when it was answered
}

// Book is everything the world was told. An event is in it before its first
// byte is sent, so that nothing the system knows can be unknown here.
type Book struct {
	mu     sync.Mutex
	events map[string]*Event
	yes    []string // ids of phone orders, in order of their yes
	heard  int      // definite answers
	phases []phase
	clocks []ClockRead
	notes  []string
	broken []Finding
}

type phase struct {
	fault string
	from  time.Time
}

// NewBook is empty; its first phase has no fault.
func NewBook() *Book { return &Book{events: map[string]*Event{}} }

// Phase says that a fault is about to strike; what is answered from now on is its.
func (b *Book) Phase(fault string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phases = append(b.phases, phase{fault, time.Now()})
}

// ClockRead says by how much vend-cloud's clock is wrong from an instant on.
type ClockRead struct {
	From int64 // Unix ms, by a right clock
	By   int64 // ms
}

// Clock enters that vend-cloud's clock is wrong from now on.
func (b *Book) Clock(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clocks = append(b.clocks, ClockRead{time.Now().UnixMilli(), by.Milliseconds()})
}

// Clocks lists how wrong it was, and from when on.
func (b *Book) Clocks() []ClockRead {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.clocks)
}

// Forget strikes out what was refused before anything was kept of it.
func (b *Book) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.events, id)
}

// Hung enters that somebody was left without any answer for too long.
func (b *Book) Hung(detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = append(b.broken, Finding{Promise: answersInTime, Fault: b.faultAt(time.Now()), Detail: detail})
}

const answersInTime = "who asks a service that runs is answered in time, if only to come again"

// Note enters what is worth telling and breaks no promise.
func (b *Book) Note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, b.faultAt(time.Now())+": "+fmt.Sprintf(format, args...))
}

// Notes lists them.
func (b *Book) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// FaultAt names the fault whose phase t falls into.
func (b *Book) FaultAt(t time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faultAt(t)
}

func (b *Book) faultAt(t time.Time) string {
	for _, p := range slices.Backward(b.phases) {
		if !t.Before(p.from) {
			return p.fault
		}
	}
	return ""
}

// Begin enters an event that is about to be asked for.
func (b *Book) Begin(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events[e.ID] = &e
}

// Said enters a yes. The first one's reply stands: any later one must have the
// same bytes.
func (b *Book) Said(id string, reply []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events[id]
	if e.Outcome == Yes {
		if !bytes.Equal(e.Reply, reply) {
			b.complain(e, equalReplays, "first "+string(e.Reply)+" then "+string(reply))
		}
		return
	}
	e.Outcome, e.Reply = Yes, reply
	b.answered(e)
	if e.Kind == Phone {
		b.yes = append(b.yes, id)
	}
}

// Refused enters a definite no to what was sent at the given time. A no to
// what was sent after the yes had been heard is a broken promise; before, the
// two may have overtaken one another.
func (b *Book) Refused(id string, code wire.Code, sent time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events[id]
	if e.Outcome == Yes {
		if sent.After(e.Since) {
			b.complain(e, equalReplays, "first a yes, then "+string(code))
		}
		return
	}
	e.Outcome, e.Code = No, code
	b.answered(e)
}

// Paid enters that the provider has an order's money.
func (b *Book) Paid(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events[id].Paid = true
}

// Dropped enters units that came out of a cabinet for an order.
func (b *Book) Dropped(id, sku string, units int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events[id]
	if e == nil {
		b.broken = append(b.broken, Finding{Promise: vendsOnce, ID: id, Detail: "dispensed for nobody"})
		return
	}
	if e.Dropped == nil {
		e.Dropped = map[string]int{}
	}
	if _, again := e.Dropped[sku]; again {
		b.complain(e, vendsOnce, sku+" was dispensed by a second command")
	}
	e.Dropped[sku] += units
}

const vendsOnce = "an order is dispensed once"

// Twice enters that a command was handed out again.
func (b *Book) Twice(id, command string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.events[id]; e != nil {
		b.complain(e, vendsOnce, "command "+command+" was handed out twice")
	}
}

func (b *Book) answered(e *Event) {
	b.heard++
	e.Since = time.Now()
	e.Fault = b.faultAt(e.Since)
}

const equalReplays = "a replay gets the first answer, byte for byte"

func (b *Book) complain(e *Event, promise, detail string) {
	b.broken = append(b.broken, Finding{Promise: promise, ID: e.ID, Fault: b.faultAt(time.Now()), Detail: detail})
}

// Recent draws one of the last n accepted phone orders.
func (b *Book) Recent(r *rand.Rand, n int) (Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.yes) == 0 {
		return Event{}, false
	}
	n = min(n, len(b.yes))
	return *b.events[b.yes[len(b.yes)-1-r.IntN(n)]], true
}

// Answered is how many events have a definite answer.
func (b *Book) Answered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heard
}

// Events are copies of all entries, and Broken the promises that were broken
// in the asker's face.
func (b *Book) Events() (events []Event, broken []Finding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		one := *e
		one.Dropped = maps.Clone(e.Dropped)
		events = append(events, one)
	}
	return events, slices.Clone(b.broken)
}
