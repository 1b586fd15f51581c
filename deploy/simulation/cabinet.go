package simulation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"vendline/cloud/ledger/ledgertest"
	"vendline/edge/allowance"
	"vendline/edge/dispense"
	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// cabinet is a cabinet: its agent's outbox, journal and allowance are the real
// ones, on a file of their own; its firmware, motors and units are here.
type cabinet struct {
	w       *world
	id      string
	dir     string
	offline bool
	skew    time.Duration    // its wall clock is off by so much
	units   ledgertest.Stock // what is really in it
	empty   int              // units that were to drop and were not there

	box     *outbox.Outbox
	allow   *allowance.Allowance
	journal *dispense.Journal
	asker   *dispense.Asker
	booted  time.Time // for its monotonic clock
	cut     int       // the power goes at this many durable steps from now; 0: it stays
	dark    bool      // it has gone

	kept   map[string]bool              // events that were promised to be kept: id → heard of by the cloud
	orders map[string]bool              // of them, orders
	motors map[string]int               // command → times its motors turned
	log    map[string][]dispense.Result // what motors did and the agent has not taken yet: it outlives a power cut
}

// errPower is a step that a power cut took away.
var errPower = errors.New("the power went")

func newCabinet(w *world, id string) (*cabinet, error) {
	c := &cabinet{w: w, id: id, dir: filepath.Join(w.dir, id), units: opening(), kept: map[string]bool{}, orders: map[string]bool{}, motors: map[string]int{}, log: map[string][]dispense.Result{}}
	return c, c.boot()
}

// boot starts the agent over its file, as after a power cut.
func (c *cabinet) boot() (err error) {
	w := c.w
	c.booted, c.dark, c.cut = w.Now(), false, 0
	now := func() time.Time { return w.Now().Add(c.skew) }
	mono := func() time.Duration { return w.Now().Sub(c.booted) }
	mint := ident.New(now, reader{w})
	c.box, err = outbox.Open(w.ctx, outbox.Options{Dir: c.dir, Cabinet: c.id, Free: func(string) (uint64, error) { return 1 << 30, nil }, Mint: mint, Now: now, Mono: mono, Hook: c.hook,
		Check: nil, MaxSize: 8 << 20, History: 1000})
	if err != nil {
		return fmt.Errorf("boot %s: %w", c.id, err)
	}
	if c.allow, err = allowance.Open(c.box); err != nil {
		return fmt.Errorf("boot %s: %w", c.id, err)
	}
	if c.journal, err = dispense.Open(c.box, dispense.Options{Mono: mono, Now: now, Run: w.token(), Lost: c.box.Gap(), History: 200}); err != nil {
		return fmt.Errorf("boot %s: %w", c.id, err)
	}
	c.asker = dispense.NewAsker(c.journal, c.id, mint.V4, func() float64 { return 0.5 }, func(q wire.Ask) bool {
		if c.offline {
			return false
		}
		w.send(letter{true, c.id, wire.Topic(c.id, wire.ChannelAsk), wire.Encode(q)})
		return true
	})
	return nil
}

func (c *cabinet) close() {
	if c.box != nil {
		_ = c.box.Close()
	}
}

// reader is randomness that the world owns.
type reader struct{ w *world }

func (r reader) Read(b []byte) (int, error) {
	var word [8]byte
	for i := range b {
		if i%8 == 0 {
			binary.LittleEndian.PutUint64(word[:], r.w.rng.Uint64())
		}
		b[i] = word[i%8]
	}
	return len(b), nil
}

// hook cuts the power right before or right after a durable step.
func (c *cabinet) hook(_ outbox.Step, _ bool) error {
	if c.cut > 0 {
		if c.cut--; c.cut == 0 {
			c.dark = true
		}
	}
	if c.dark {
		return errPower
	}
	return nil
}

// do is something that the cabinet does, with its power on to begin with. What
// it would have answered is lost with the power.
func (c *cabinet) do(what string, act func() error) (done bool) {
	if c.w.fire(CutInCommit, 40) {
		c.cut = 1 + c.w.rng.IntN(2)
	}
	err := act()
	c.cut = 0
	outcome := said(err)
	if c.dark {
		outcome = "the power goes"
	}
	c.w.trace(c.id, what, outcome)
	if c.dark {
		c.restart()
		return false
	}
	return err == nil
}

// restart is a power cut: what was in memory is gone.
func (c *cabinet) restart() {
	c.dark = false
	c.close()
	c.w.check("restart "+c.id, c.boot())
	c.w.trace(c.id, "starts", "")
}

// order is a shopper who scans at the cabinet.
func (c *cabinet) order(id, user string, ls []wire.Line) {
	if c.do("scan "+tail(id)+text(ls), func() error {
		_, err := c.box.Append(c.w.ctx, outbox.Entry{ID: id, At: c.w.Now().Add(c.skew).UnixMilli(), Order: &wire.Order{User: user, Lines: ls}})
		return err
	}) {
		c.kept[id], c.orders[id] = true, true
	}
}

// restock is somebody who fills the cabinet up. He asks again until he is heard.
func (c *cabinet) restock(id string, ls []wire.Line) {
	for range 3 {
		if c.do("restock "+tail(id)+text(ls), func() error {
			_, err := c.box.Append(c.w.ctx, outbox.Entry{ID: id, At: c.w.Now().Add(c.skew).UnixMilli(), Fact: &wire.Fact{Kind: wire.FactRestock, Lines: ls}})
			return err
		}) {
			c.kept[id] = true
			break
		}
	}
	for _, l := range ls {
		c.units[l.SKU] += int64(l.Qty)
	}
}

// sell is a sale that the firmware makes on its own, within what it was granted.
// The units drop once it hears yes; it asks again until it hears something.
func (c *cabinet) sell(id string, ls []wire.Line) {
	for range 3 {
		var refused bool
		if c.do("sell offline "+tail(id)+text(ls), func() error {
			_, err := c.allow.Sell(c.w.ctx, outbox.Entry{ID: id, At: c.w.Now().Add(c.skew).UnixMilli(), Fact: &wire.Fact{Kind: wire.FactSale, Lines: ls}})
			refused = errors.Is(err, allowance.ErrExceeded)
			return err
		}) {
			c.kept[id] = true
			for _, l := range ls {
				c.units[l.SKU] -= int64(l.Qty)
			}
			return
		}
		if refused {
			return
		}
	}
}

// transmit sends what waits, as the uplink does, again and again until it is answered.
func (c *cabinet) transmit(n int) {
	if c.offline {
		return
	}
	rows, err := c.box.Pending(0, n)
	c.w.check("read the outbox of "+c.id, err)
	for _, r := range rows {
		c.w.send(letter{true, c.id, wire.Topic(c.id, r.Kind().Channel()), wire.Encode(c.box.Event(r))})
		if c.w.opt.Bug == RowGoesWhenSent {
			_ = c.box.Settle(c.w.ctx, []outbox.Answer{{Seq: r.Seq}})
		}
	}
}

// hear takes a message from the cloud, as the uplink does.
func (c *cabinet) hear(l letter) {
	_, channel, _ := wire.ParseTopic(l.topic)
	c.do("hears "+string(channel), func() error {
		switch channel {
		case wire.ChannelVerdict:
			var v wire.Verdict
			if err := wire.Decode(l.payload, wire.MaxMessage, &v); err != nil || v.Epoch != c.box.Epoch() || v.Code.Retryable() {
				return err
			}
			return c.box.Settle(c.w.ctx, []outbox.Answer{{Seq: v.Seq, Verdict: &v}})
		case wire.ChannelAck:
			var a wire.Ack
			if err := wire.Decode(l.payload, wire.MaxMessage, &a); err != nil || a.Epoch != c.box.Epoch() {
				return err
			}
			answers := make([]outbox.Answer, len(a.Seqs))
			for i, seq := range a.Seqs {
				answers[i].Seq = seq
			}
			return c.box.Settle(c.w.ctx, answers)
		}
		var m wire.Command
		if err := wire.Decode(l.payload, wire.MaxMessage, &m); err != nil {
			return err
		}
		switch m.Kind {
		case wire.CommandWake:
			return c.asker.Ask()
		case wire.CommandDispense:
			return c.asker.Answer(c.w.ctx, m)
		case wire.CommandStock:
			return c.allow.Grant(c.w.ctx, m.Stock, m.Counted)
		}
		return nil
	})
}

// vend is the firmware: it takes one command, turns the motors, and says what
// became of it.
func (c *cabinet) vend() {
	var cmd dispense.Command
	var ok bool
	if !c.do("takes a command", func() (err error) { cmd, ok, err = c.journal.Next(c.w.ctx); return err }) || !ok {
		return
	}
	c.motors[cmd.ID]++
	if c.motors[cmd.ID] > 1 {
		c.w.say("%s vends command %s twice", c.id, cmd.ID)
	}
	var results []dispense.Result
	for _, l := range cmd.Lines {
		n := l.Qty
		if c.w.rng.IntN(8) == 0 { // motors jam in quiet times too
			c.w.fired[Jammed]++
			n = c.w.rng.IntN(l.Qty)
		}
		if int64(n) > c.units[l.SKU] {
			c.empty += n - int(c.units[l.SKU])
			n = int(c.units[l.SKU])
			c.w.trace(c.id, "slot is empty", l.SKU)
			if !c.w.lossy && !c.w.model.sold {
				c.w.say("%s is to drop %d %s of order %s and has %d", c.id, l.Qty, l.SKU, l.SKU, n)
			}
		}
		c.units[l.SKU] -= int64(n)
		state := wire.Dispensed
		if n < l.Qty {
			state = wire.Failed
		}
		results = append(results, dispense.Result{SKU: l.SKU, State: state, Units: &n})
	}
	c.log[cmd.ID] = results
	if c.w.fire(Unsure, 8) { // the agent cannot know; the motors' log does, once somebody reads it
		c.w.trace(c.id, "power cut at the motor", tail(cmd.Order))
		c.restart()
		return
	}
	c.tell(cmd.ID)
}

// tell has the firmware say what its motors did, until it is taken.
func (c *cabinet) tell(ids ...string) {
	for _, id := range ids {
		if c.do("vended "+tail(id), func() error {
			_, err := c.journal.Result(c.w.ctx, id, c.log[id], true)
			return err
		}) {
			delete(c.log, id)
		}
	}
}

// sweep ends what nobody took or told of in time.
func (c *cabinet) sweep() {
	c.do("sweep", func() error { return c.journal.Sweep(c.w.ctx) })
}
