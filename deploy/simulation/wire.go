package simulation

import (
	"slices"

	"vendline/shared/wire"
)

// letter is a message under way between a cabinet and the cloud.
type letter struct {
	up      bool
	cabinet string
	topic   string
	payload []byte
}

// postable bounds what is under way: a broker drops what nobody takes.
const postable = 400

// send puts a letter on its way.
func (w *world) send(l letter) {
	if len(w.post) < postable {
		w.post = append(w.post, l)
	}
}

// sendDown is how intake speaks to cabinets.
func (w *world) sendDown(p *cloud, topic string, payload []byte) bool {
	cabinet, _, ok := wire.ParseTopic(topic)
	if !ok || p.dead {
		return false
	}
	w.send(letter{false, cabinet, topic, slices.Clone(payload)})
	return true
}

// pick takes a letter that is to be delivered now: mostly the first, sometimes
// one that overtakes it; sometimes it stays and comes again.
func (w *world) pick() (letter, bool) {
	if len(w.post) == 0 {
		return letter{}, false
	}
	i := 0
	if len(w.post) > 1 && w.fire(LetterLate, 4) {
		i = 1 + w.rng.IntN(len(w.post)-1)
	}
	l := w.post[i]
	if w.fire(LetterTwice, 12) {
		return l, true
	}
	w.post = slices.Delete(w.post, i, i+1)
	if w.fire(LetterLost, 12) {
		_, channel, _ := wire.ParseTopic(l.topic)
		w.trace(l.cabinet, "lost: "+string(channel), "")
		return letter{}, false
	}
	return l, true
}

// deliver brings one letter to whom it is for: a cabinet, or some process of the
// cloud, where it becomes a task.
func (w *world) deliver() {
	l, ok := w.pick()
	if !ok {
		return
	}
	c := w.cabinet(l.cabinet)
	switch {
	case c.offline:
		return // neither way
	case !l.up:
		c.hear(l)
	default:
		p := w.anyCloud()
		w.begin("intake", p, func() {
			p.intake.Take(l.topic, l.payload)
		})
	}
}

func (w *world) cabinet(id string) *cabinet {
	return w.cabinets[slices.IndexFunc(w.cabinets, func(c *cabinet) bool { return c.id == id })]
}

func (w *world) anyCloud() *cloud { return w.clouds[w.rng.IntN(len(w.clouds))] }
