package dispense

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Errors of the journal.
var (
	ErrUnknown  = errors.New("dispense: no such command")
	ErrState    = errors.New("dispense: the command was not handed out")
	ErrConflict = errors.New("dispense: the line has another result")
)

// Box is the outbox as the journal needs it. *outbox.Outbox is one.
type Box interface {
	Write(ctx context.Context, step outbox.Step, work func(*outbox.Tx) error) error
	Read(fn func(outbox.Books) error) error
	Reserve(bytes int64)
}

// Durable steps of the journal, for tests.
const (
	StepAccept outbox.Step = "accept"   // a command from the cloud becomes ready
	StepHand   outbox.Step = "hand out" // it becomes dispensing
	StepResult outbox.Step = "result"   // lines get results
	StepEnd    outbox.Step = "end"      // commands end without the firmware: expired, unknown
)

// Options of a journal. Mono is required.
type Options struct {
	Mono    func() time.Duration // monotonic, of this process
	Now     func() time.Time     // wall clock, written into events and used for nothing else
	Run     string               // names this process among those that wrote; empty means a random one
	Timing  Timing
	Lost    bool // an earlier journal was lost with its file; see amnesia.go
	History int  // commands that are done and kept; 0 means 2,000
	Log     *slog.Logger
}

// Timing holds every interval. Zero fields take the defaults in brackets.
type Timing struct {
	Ask    time.Duration // [15 s] between questions
	Again  time.Duration // [2 s] until an unanswered question is asked again, while there is something to hear
	Grace  time.Duration // [30 s] that the firmware has after our start to tell what became of a command
	Result time.Duration // [10 min] that it has after taking one, or after its last word on it
}

func (t *Timing) fill() {
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&t.Ask, 15 * time.Second}, {&t.Again, 2 * time.Second}, {&t.Grace, 30 * time.Second}, {&t.Result, 10 * time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
}

// Journal keeps commands. Safe for concurrent use.
type Journal struct {
	opt  Options
	box  Box
	asks asks

	mu     sync.Mutex
	open   map[string]*standing // commands that are not done
	lost   bool                 // no answer was taken since an earlier journal was lost
	change chan struct{}        // closed and replaced at every change
}

// standing is what this process knows of a command that is not done, beside what
// the file says. It changes with the commit that changes the file.
type standing struct {
	number int64
	state  State
	asked  int64         // ready: which of our questions its deadline counts from; 0 means none of this process's
	until  time.Duration // ready: never to be handed out from here on
	due    time.Duration // dispensing: reported unknown from here on
	room   int64         // reserved for its reports
}

// Open reads the journal in box.
//
// A command that was ready has no deadline now: it was an interval of a clock
// that is gone. It is not handed out before an answer gives it a new one. It is
// over one life after this start at the latest, because it began to live before.
// One that was dispensing is never handed out again; the firmware has the grace
// to tell what became of it.
func Open(box Box, opt Options) (*Journal, error) {
	opt.Timing.fill()
	if opt.History <= 0 {
		opt.History = 2000
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Run == "" {
		run, err := ident.New(nil, nil).V4()
		if err != nil {
			return nil, err
		}
		opt.Run = run
	}
	j := &Journal{opt: opt, box: box, open: make(map[string]*standing), change: make(chan struct{})}
	if err := box.Read(j.load); err != nil {
		return nil, fmt.Errorf("dispense: read journal: %w", err)
	}
	return j, nil
}

func (j *Journal) load(b outbox.Books) error {
	now := j.opt.Mono()
	mark, err := b.Get(outbox.BookCommands, keyAnswered())
	j.lost = j.opt.Lost && (mark == nil || err != nil)
	b.Each(outbox.BookCommands, func(key, v []byte, err error) bool {
		var r record
		if string(key) == string(keyAnswered()) {
			return true
		}
		if err == nil {
			r, err = decodeRecord(v)
		}
		if len(key) != 16 || err != nil {
			j.opt.Log.Error("a command in the journal can not be read; it is never handed out", "key", fmt.Sprintf("%x", key), "err", err)
			return true
		}
		if r.State == Done {
			return true
		}
		s := &standing{number: r.Number, state: r.State, until: now + r.Life, due: now + j.opt.Timing.Grace, room: r.room()}
		j.open[ident.Format([16]byte(key))] = s
		j.box.Reserve(s.room)
		return true
	})
	return nil
}

// changed lets those look again who wait. j.mu is held.
func (j *Journal) changed() {
	close(j.change)
	j.change = make(chan struct{})
}

// Changed is closed at the next change: a command that may be handed out, say.
func (j *Journal) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.change
}

// Status is what health shows.
type Status struct {
	Ready, Dispensing int
	Asked             time.Duration // since the last question; negative: none yet
	Answered          time.Duration // since the last answer; negative: none yet
}

// Status of the journal.
func (j *Journal) Status() Status {
	var s Status
	s.Asked, s.Answered = j.asks.ages(j.opt.Mono())
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.open {
		if c.state == Ready {
			s.Ready++
		} else {
			s.Dispensing++
		}
	}
	return s
}

// report appends the next report on a command to the outbox.
func (j *Journal) report(tx *outbox.Tx, id string, r *record) error {
	e := outbox.Entry{ID: ident.OfResult(id, r.Facts+1), At: j.opt.Now().UnixMilli(), Fact: r.fact(id)}
	if err := e.Fact.Check(); err != nil {
		return err
	}
	_, err := tx.Append(e, outbox.ShareOwn)
	if errors.Is(err, outbox.ErrTooLarge) { // details are for people: better none than no report
		for i := range e.Fact.Dispense.Lines {
			e.Fact.Dispense.Lines[i].Detail = ""
		}
		_, err = tx.Append(e, outbox.ShareOwn)
	}
	if err != nil {
		return err
	}
	r.Facts++
	return nil
}

// finish stores a command as done, and forgets what is old enough.
func (j *Journal) finish(tx *outbox.Tx, id string, r record) error {
	r.State, r.Run, r.Finished = Done, j.opt.Run, j.opt.Mono()
	if err := put(tx, id, r); err != nil {
		return err
	}
	n, err := tx.Next(outbox.BookFinished)
	if err != nil {
		return err
	}
	raw, _ := ident.Parse(id)
	if err := tx.Put(outbox.BookFinished, number(n), raw[:]); err != nil {
		return err
	}
	tx.OnCommit(func() { j.closed(id) })
	return j.forget(tx, n-int64(j.opt.History))
}

// closed drops what memory holds of a command that is done.
func (j *Journal) closed(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.open[id]; s != nil {
		j.box.Reserve(-s.room)
		delete(j.open, id)
	}
	j.changed()
}

// event is the id of the last report on a command; empty if there is none.
func (r record) event(id string) string {
	if r.Facts == 0 {
		return ""
	}
	return ident.OfResult(id, r.Facts)
}

// validVend finds what makes a command impossible, and merges its lines.
func validVend(v *wire.Vend) (err error) {
	switch {
	case !wire.ValidID(v.ID):
		return &wire.FieldError{Path: "id", Problem: "must be a lower-case UUID"}
	case !wire.ValidID(v.Order):
		return &wire.FieldError{Path: "order", Problem: "must be a lower-case UUID"}
	case v.ExpiresIn > MaxLife.Milliseconds():
		return &wire.FieldError{Path: "expires_in", Problem: "is longer than a day"}
	}
	v.Lines, err = wire.Basket(v.Lines)
	return err
}

// MaxLife bounds what a cloud may give a command to live: what is remembered of
// a command is remembered for longer.
const MaxLife = 24 * time.Hour
