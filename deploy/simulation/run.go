package simulation

import (
	"fmt"
	"os"
	"time"

	"vendline/cloud/outbox"
)

// Options of a simulation.
type Options struct {
	Steps int               // choices before the faults end; 0 means 260
	Bug   Bug               // a rule left out, which the verdict must notice; empty is none
	Trace func(line string) // hears every step; may be nil
	Dir   string            // where the stores' files go for the while; empty: memory, if there is some, or the temporary folder

	lossy bool
}

// Result is what a history came to.
type Result struct {
	Seed   uint64        `json:"seed"`
	Wrong  []string      `json:"broken,omitempty"` // promises broken
	Hash   string        `json:"hash"`             // of the whole history
	Fired  map[Fault]int `json:"fired"`            // faults that happened
	Steps  int           `json:"steps"`
	Orders int           `json:"orders"` // that stand
	Facts  int           `json:"facts"`
	Lost   int           `json:"holds_lost"` // taken back for want of stock
	Over   int           `json:"oversold"`   // orders that were promised what Redis had forgotten to be gone
}

// Run plays the history of a seed. An error says that it could not be played.
func Run(seed uint64, opt Options) (Result, error) {
	if opt.Steps <= 0 {
		opt.Steps = 260
	}
	opt.lossy = seed%2 == 1 // in every other history Redis loses nothing, and none may be repaired
	dir, err := os.MkdirTemp(memory(opt.Dir), "vendline-sim-")
	if err != nil {
		return Result{}, fmt.Errorf("sim: %w", err)
	}
	defer os.RemoveAll(dir)
	w, err := newWorld(seed, opt, dir)
	if err != nil {
		return Result{}, fmt.Errorf("sim: seed %d: %w", seed, err)
	}
	defer w.close()
	for range opt.Steps {
		w.step()
		w.bury()
	}
	w.rest()
	w.judge()
	return Result{Seed: seed, Wrong: w.wrong, Hash: w.hash(), Fired: w.fired, Steps: w.steps, Orders: len(w.model.orders), Facts: len(w.model.facts), Lost: w.lost, Over: w.over}, nil
}

// memory is a folder that is not on a disk, where there is one: the histories
// lose what they lose by the seed, not by a disk.
func memory(dir string) string {
	if dir != "" {
		return dir
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// step is the seed's next choice.
func (w *world) step() {
	if len(w.tasks) > 0 && w.rng.IntN(5) < 2 {
		w.resume(w.tasks[w.rng.IntN(len(w.tasks))])
		return
	}
	n := len(w.tasks)
	w.happen()
	if len(w.tasks) > n {
		w.resume(w.tasks[len(w.tasks)-1])
	}
}

// happen begins something new.
func (w *world) happen() {
	p, c, s := w.anyCloud(), w.cabinets[w.rng.IntN(len(w.cabinets))], w.people
	id, any := s.some()
	switch x := w.rng.IntN(200); {
	case x < 20:
		s.place(p, w.id())
	case x < 30:
		s.scans()
	case x < 36 && any:
		if _, phone := s.asked[id]; phone {
			s.place(p, id)
		}
	case x < 52 && any:
		s.pay(p, id)
		if w.rng.IntN(2) == 0 { // and has the money ready
			w.resume(w.tasks[len(w.tasks)-1])
			s.give(id)
		}
	case x < 64 && any:
		s.give(id)
		s.callback(p, id)
	case x < 72 && any:
		s.cancel(p, id)
	case x < 76 && any:
		s.retry(p, id)
	case x < 80:
		c.restock(w.id(), lines(1+w.rng.IntN(2), w.rng.IntN(2)))
	case x < 83:
		if w.opt.lossy || w.rng.IntN(3) == 0 {
			c.sell(w.id(), lines(1, 0))
		}
	case x < 88:
		c.transmit(1 + w.rng.IntN(4))
	case x < 106:
		w.deliver()
		w.deliver()
	case x < 112:
		c.do("asks", func() error { return c.asker.Ask() })
		for range 3 {
			w.deliver()
		}
		c.vend()
	case x < 115:
		c.tell(sorted(c.log)...)
	case x < 116:
		c.sweep()
	case x < 119:
		w.begin("grant", p, func() { p.grant(c.id) })
	case x < 150:
		kind := w.anyKind()
		w.begin("carry", p, func() { p.carry(kind, 1+w.rng.IntN(4)) })
	case x < 168:
		if !p.consuming {
			w.begin("consume", p, func() { p.consume(1 + w.rng.IntN(4)) })
		}
	case x < 171:
		w.begin("remind", p, func() { p.remind(1 + w.rng.IntN(3)) })
	case x < 174:
		w.begin("orphans", p, func() { w.trace(p.name, "swept orphans", said(p.sweeper.Sweep(w.ctx))) })
	case x < 176:
		w.begin("expire", p, func() { _, err := p.timers.Sweep(w.ctx); w.trace(p.name, "swept holds", said(err)) })
	case x < 181:
		frozen := w.rng.IntN(3) == 0
		w.begin("reconcile", p, func() { p.compare(frozen) })
	case x < 190:
		w.pass(time.Duration(1+w.rng.IntN(40)) * time.Second)
		if w.rng.IntN(20) == 0 {
			w.pass(hold)
		}
	case x < 193:
		w.save()
	default:
		w.breaks(c)
	}
}

// breaks lets something fail that stays so for a while, or comes back.
func (w *world) breaks(c *cabinet) {
	switch w.rng.IntN(8) {
	case 0, 1:
		w.loseRedis()
	case 2:
		if w.away = !w.away; w.away {
			w.fired[RedisAway]++
			w.trace("redis", "is away", "")
		}
	case 3:
		if w.till.down = !w.till.down; w.till.down {
			w.fired[TillAway]++
			w.trace("till", "is away", "")
		}
	case 4:
		if c.offline = !c.offline; c.offline {
			w.fired[Offline]++
			w.trace(c.id, "is offline", "")
		}
	case 5:
		w.fired[PowerCut]++
		c.restart()
	case 6:
		w.fired[ClockWrong]++
		c.skew = time.Duration(w.rng.IntN(80_000)-40_000) * time.Hour
		w.trace(c.id, "clock jumps", c.skew.String())
	case 7:
		w.meet()
		w.away, w.till.down, c.offline = false, false, false
	}
}

func (w *world) anyKind() outbox.Kind {
	all := kinds()
	if x := w.rng.IntN(10); x < 7 { // stock, timer and Redis rows are most of them, then what was paid
		return all[[]int{0, 0, 2, 2, 1, 3, 3}[x]]
	}
	return all[3+w.rng.IntN(len(all)-3)]
}

// bury ends processes that have died: what they had under way unwinds, and a new
// one starts over the same stores.
func (w *world) bury() {
	for i, p := range w.clouds {
		if !p.dead {
			continue
		}
		for again := true; again; {
			again = false
			for _, t := range w.tasks {
				if t.on == p {
					w.finish(t)
					again = true
					break
				}
			}
		}
		p.end()
		next, err := w.start(p.name)
		if err != nil {
			w.check("start "+p.name, err)
			continue
		}
		w.clouds[i] = next
		w.trace(p.name, "starts", "")
	}
}

// all runs everything that is under way to its end.
func (w *world) all() {
	for len(w.tasks) > 0 {
		w.finish(w.tasks[0])
	}
	w.bury()
}

// rest ends the faults and lets time pass until nothing waits any more.
func (w *world) rest() {
	w.trace("*", "the faults end", "")
	w.calm, w.away, w.till.down = true, false, false
	w.meet()
	w.all()
	for _, c := range w.cabinets {
		c.offline, c.cut = false, 0
	}
	for range 40 {
		if w.waiting() == 0 {
			return
		}
		w.pass(4 * time.Minute)
		w.round()
	}
}

// round is what everybody's loops do within a while.
func (w *world) round() {
	run := func(name string, p *cloud, do func()) { w.finish(w.begin(name, p, do)) }
	p := w.clouds[0]
	for _, c := range cabinetIDs() {
		run("rebuild", p, func() { w.check("rebuild", p.fence.Rebuild(w.ctx, c)) })
	}
	for _, c := range w.cabinets {
		c.transmit(64)
		c.do("asks", func() error { return c.asker.Ask() })
	}
	w.letters()
	for _, id := range w.people.ids {
		if !w.people.heard[id] {
			w.people.callback(p, id)
			w.all()
		}
	}
	for _, kind := range kinds() {
		for range 6 {
			run("carry", p, func() { p.carry(kind, 64) })
		}
	}
	for range 6 {
		run("consume", p, func() { p.consume(64) })
		run("remind", p, func() { p.remind(64) })
	}
	run("orphans", p, func() { w.check("orphan sweep", p.sweeper.Sweep(w.ctx)) })
	run("expire", p, func() { _, err := p.timers.Sweep(w.ctx); w.check("sweep of holds", err) })
	for _, c := range w.cabinets { // what was just paid waits a minute for its motors
		c.do("asks", func() error { return c.asker.Ask() })
	}
	w.letters()
	for _, c := range w.cabinets {
		c.tell(sorted(c.log)...)
		for range 8 {
			c.vend()
		}
		c.sweep()
		c.transmit(64)
	}
	w.letters()
}

// letters brings all that is under way.
func (w *world) letters() {
	for range 4 * postable {
		if len(w.post) == 0 {
			return
		}
		w.deliver()
		w.all()
	}
}
