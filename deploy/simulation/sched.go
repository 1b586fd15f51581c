package simulation

import (
	"errors"
	"slices"
)

// errKilled is what a dead process hears of everything it goes on to ask.
var errKilled = errors.New("this process was killed")

// task is something under way. One runs at a time; the others are parked
// between two steps.
type task struct {
	name string
	on   *cloud // it ends with this process; nil if it is nobody's
	wake chan struct{}
	over bool
}

// begin makes a task, parked at its start.
func (w *world) begin(name string, on *cloud, do func()) *task {
	t := &task{name: name, on: on, wake: make(chan struct{})}
	go func() {
		<-t.wake
		do()
		t.over = true
		w.back <- struct{}{}
	}()
	w.tasks = append(w.tasks, t)
	return t
}

// resume lets a task go on until it parks again or ends.
func (w *world) resume(t *task) {
	w.running = t
	t.wake <- struct{}{}
	<-w.back
	w.running = nil
	if t.over {
		w.tasks = slices.DeleteFunc(w.tasks, func(x *task) bool { return x == t })
	}
}

// park stops what is running, until the seed lets it go on. Goroutines that the
// product starts for a task park it too: their starter waits for them.
func (w *world) park() {
	t := w.running
	w.back <- struct{}{}
	<-t.wake
}

// finish lets a task run to its end.
func (w *world) finish(t *task) {
	for !t.over {
		w.resume(t)
	}
}

// gate is a point before or after a durable step: the process may die here, or
// others may go on first.
func (p *cloud) gate(point string) error {
	w := p.w
	if p.dead {
		return errKilled
	}
	if w.calm || w.running == nil {
		return nil
	}
	if w.rng.IntN(110) == 0 {
		w.fired[CloudDies]++
		p.dead = true
		w.trace(p.name, point, "dies")
		return errKilled
	}
	if w.deep == 0 && w.rng.IntN(4) == 0 {
		w.fired[Interleaved]++
		w.park()
		if p.dead {
			return errKilled
		}
	}
	return nil
}

// through does a durable step between two gates.
func through[T any](p *cloud, step string, do func() (T, error)) (T, error) {
	var none T
	if err := p.gate("before " + step); err != nil {
		return none, err
	}
	v, err := do()
	p.w.trace(p.name, step, said(err))
	if dead := p.gate("after " + step); dead != nil {
		return none, dead
	}
	return v, err
}

func pass(p *cloud, step string, do func() error) error {
	_, err := through(p, step, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// closed is pass for what holds a lock that others would wait for: nobody else
// goes on meanwhile.
func closed(p *cloud, step string, do func() error) error {
	p.w.deep++
	defer func() { p.w.deep-- }()
	return pass(p, step, do)
}
