package catalogue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// errand is one kind of read of the source, never twice at once.
type errand struct {
	c     *Catalogue
	what  string // for the log
	read  func(ctx context.Context) error
	every time.Duration
	due   atomic.Int64 // when it is to be read again, in ns since the catalogue's birth

	mu     sync.Mutex
	flight *flight
	tried  time.Duration // when the last flight began
	asked  time.Duration // when the last one began that somebody waited for from its beginning
	failed error         // how the last flight ended
}

// flight is one read, shared by all who wait for it.
type flight struct {
	done  chan struct{} // closed when err is set
	err   error
	asked bool // it began after the question of all who wait for it, or with the first of them
}

// soon begins a read if it is due; nobody waits for it.
func (e *errand) soon(now time.Duration) {
	if due := e.due.Load(); int64(now) >= due && e.due.CompareAndSwap(due, int64(now+e.c.opt.Between)) {
		e.refresh(now)
	}
}

// fresh waits for a read that began no earlier than the question, shared with
// all who ask meanwhile; or says how the last such read ended, if that was less
// than Between ago. A read behind the callers' backs is not one: what was listed
// right after it would be unknown for as long.
func (e *errand) fresh(ctx context.Context, now time.Duration) error {
	for {
		f, last := e.ask(now)
		if f == nil {
			return last
		}
		if err := f.wait(ctx); f.asked || ctx.Err() != nil {
			return err
		}
	}
}

// ask returns the read that is under way, or begins one.
func (e *errand) ask(now time.Duration) (f *flight, last error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flight != nil {
		return e.flight, nil
	}
	if err := e.c.ctx.Err(); err != nil {
		return nil, err
	}
	if e.asked > 0 && now-e.asked < e.c.opt.Between {
		return nil, e.failed
	}
	e.asked = max(now, 1)
	return e.begin(now, true), nil
}

func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh begins a read, unless one is under way or began less than Between ago.
func (e *errand) refresh(now time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flight == nil && e.c.ctx.Err() == nil && (e.tried == 0 || now-e.tried >= e.c.opt.Between) {
		e.begin(now, false)
	}
}

func (e *errand) begin(now time.Duration, asked bool) *flight {
	e.tried = max(now, 1)
	e.flight = &flight{done: make(chan struct{}), asked: asked}
	go e.fly(e.flight)
	return e.flight
}

func (e *errand) fly(f *flight) {
	ctx, cancel := context.WithTimeout(e.c.ctx, e.c.opt.Timeout)
	defer cancel()
	e.landed(f, e.read(ctx))
}

// landed records a flight's outcome. The next one is due in time, or, when this
// one failed, as soon as the source may be asked again.
func (e *errand) landed(f *flight, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && e.failed == nil && e.c.ctx.Err() == nil:
		e.c.opt.Log.Warn("the catalogue cannot be refreshed; the last one is served", "part", e.what, "error", err)
	case err == nil && e.failed != nil:
		e.c.opt.Log.Info("the catalogue is refreshed again", "part", e.what)
	}
	next := e.every
	if err != nil {
		next = e.c.opt.Between
	}
	e.due.Store(int64(e.c.age() + next))
	f.err, e.failed, e.flight = err, err, nil
	close(f.done)
}

// wait returns when no read is under way.
func (e *errand) wait() {
	e.mu.Lock()
	f := e.flight
	e.mu.Unlock()
	if f != nil {
		<-f.done
	}
}
