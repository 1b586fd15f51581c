package standin

import (
	"slices"
	"time"

	"vendline/shared/wire"
)

// waiting is a command that is offered until its deadline, or until the cabinet
// has told what became of it.
type waiting struct {
	cabinet string
	vend    wire.Vend
	until   time.Time
}

// Dispense has a cabinet dispense v within life, and wakes it.
func (c *Cloud) Dispense(cabinet string, v wire.Vend, life time.Duration) {
	c.mu.Lock()
	c.vends = append(c.vends, waiting{cabinet, v, time.Now().Add(life)})
	c.mu.Unlock()
	c.Wake(cabinet)
}

// Wake tells a cabinet that there is something to ask for.
func (c *Cloud) Wake(cabinet string) {
	c.Send(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandWake})
}

// Answer sends the answer to an ask.
func (c *Cloud) Answer(cabinet, ask string, list []wire.Vend) {
	c.Send(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandDispense, Ask: ask, Dispense: list})
}

func (c *Cloud) offer(cabinet string, q wire.Ask) {
	if c.opt.Offer != nil {
		if list, ok := c.opt.Offer(q); ok {
			c.Answer(cabinet, q.ID, list)
		}
		return
	}
	var list []wire.Vend
	c.mu.Lock()
	for _, w := range c.vends {
		if left := time.Until(w.until).Milliseconds(); w.cabinet == cabinet && left > 0 {
			w.vend.ExpiresIn = left
			list = append(list, w.vend)
		}
	}
	c.mu.Unlock()
	c.Answer(cabinet, q.ID, list)
}

// ended stops offering a command that an event reports on. c.mu is held.
func (c *Cloud) ended(e wire.Event) {
	if e.Fact == nil || e.Fact.Dispense == nil {
		return
	}
	c.vends = slices.DeleteFunc(c.vends, func(w waiting) bool { return w.vend.ID == e.Fact.Dispense.Command })
}
