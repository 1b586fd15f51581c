package uplink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vendline/shared/wire"
)

var errLeft = errors.New("left by ourselves")

// Uplink carries one cabinet's rows. Make it with New and run it with Run.
type Uplink struct {
	cfg   Config
	box   Box
	inbox chan letter
	wake  chan struct{} // one token: an answer changed what may be sent

	mu       sync.Mutex
	window   *window
	patience patience
	status   Status
	session  *session // the current connection, or nil

	debt     debt
	overflow atomic.Int64
	resent   atomic.Int64
}

// Status is what health shows of the connection.
type Status struct {
	Connected bool
	Since     time.Duration // monotonic instant at which Connected last changed
	Session   string        // of the current connection
	LastError string        // why the last connection or connect failed
	Conflict  string        // set while another agent seems to use our identity
	Resent    int64         // rows published more than once
	Dropped   int64         // answers dropped unread, to be asked for again
	Owed      time.Duration // for how long the cloud has answered nothing though something was asked
}

// New returns an uplink for the rows of box.
func New(box Box, cfg Config) (*Uplink, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	return &Uplink{cfg: cfg, box: box, inbox: make(chan letter, 4*settleAtOnce), wake: make(chan struct{}, 1),
		window:   newWindow(cfg.Window, cfg.Timing.Resend, cfg.Timing.ResendMax, cfg.Jitter),
		patience: patience{t: cfg.Timing, jitter: cfg.Jitter}}, nil
}

// Run connects, and keeps connecting, until ctx ends. Having no network is not
// an error; rows wait. It returns ctx's error.
func (u *Uplink) Run(ctx context.Context) error {
	var settling sync.WaitGroup
	settling.Go(func() { u.settle(ctx) })
	defer settling.Wait()
	for {
		wait := u.once(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// once lives through one connection and returns how long to wait for the next.
func (u *Uplink) once(ctx context.Context) time.Duration {
	s, err := u.connect(ctx)
	if err != nil {
		return u.missed(ctx, err)
	}
	began := u.up(s)
	u.cfg.Connected()
	err = u.send(ctx, s)
	if ctx.Err() != nil {
		u.leave(s)
	} else {
		s.close(0)
	}
	return u.down(ctx, err, u.cfg.Mono()-began)
}

func (u *Uplink) missed(ctx context.Context, err error) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.status.LastError = err.Error()
	wait := u.patience.failed()
	if ctx.Err() == nil {
		u.cfg.Log.Warn("no connection to the cloud; rows wait", "broker", u.cfg.Broker, "err", err, "again_in", wait)
	}
	return wait
}

func (u *Uplink) up(s *session) time.Duration {
	now := u.cfg.Mono()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.patience.misses = 0
	u.status.Connected, u.status.Since, u.status.Session = true, now, s.id
	u.session = s
	u.debt.heard() // the broker did answer; the cloud's time begins
	u.cfg.Log.Info("connected to the cloud", "broker", u.cfg.Broker, "session", s.id, "waiting", u.box.Depth())
	return now
}

func (u *Uplink) down(ctx context.Context, err error, lived time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.status.Connected, u.status.Since = false, u.cfg.Mono()
	u.session = nil
	if ctx.Err() != nil {
		return 0
	}
	wait := u.patience.lost(lived)
	u.status.LastError = fmt.Sprint(err)
	if !u.patience.conflict() {
		u.status.Conflict = ""
		u.cfg.Log.Warn("connection to the cloud lost", "err", err, "lived", lived, "again_in", wait)
		return wait
	}
	u.status.Conflict = fmt.Sprintf("another agent uses cabinet %s's identity: %d connections in a row were taken over",
		u.cfg.Cabinet, u.patience.quick)
	u.cfg.Log.Error("ALARM: "+u.status.Conflict, "err", err, "again_in", wait)
	return wait
}

// Status of the connection.
func (u *Uplink) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.status
	s.Resent, s.Dropped, s.Owed = u.resent.Load(), u.overflow.Load(), u.debt.age(u.cfg.Mono())
	if s.Connected && s.Conflict != "" && u.cfg.Mono()-s.Since > max(u.cfg.Timing.Quick, 2*u.patience.span) {
		s.Conflict = "" // this connection has outlived the fight
	}
	return s
}

// Reason is the cloud's last word on a row it asked to be sent again later; the
// code is empty if it said nothing.
func (u *Uplink) Reason(seq int64) (wire.Code, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.window.reason(seq)
}

// nudge lets the sender look again.
func (u *Uplink) nudge() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}
