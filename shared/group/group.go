// Package group shares one trip between many callers: while a trip is under
// way, those who arrive wait together and travel on the next one.
//
// It is how Vendline pays for a commit, an fsync or a network round trip once
// per crowd instead of once per request. A group never waits for company: when
// a worker is idle, a lone caller leaves at once.
package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed is returned by Do once Close has been called. An item that was
// handed in before may still be carried out, if its trip outlasts the grace.
var ErrClosed = errors.New("group: closed")

// Trip carries out a group of items and returns one error per item, in order.
// A nil slice means that every item succeeded. ctx is the group's own: it ends
// after Close, not with any single caller, since others share the trip.
type Trip[T any] func(ctx context.Context, items []*T) []error

// Weigher is an item that counts for more than one, towards Options.Max.
type Weigher interface{ Weight() int }

// Options bound a group.
type Options struct {
	Max     int           // most items on one trip, or the weight from which on it is full; 0 means 256
	Workers int           // trips under way at once; 0 means 1
	Linger  time.Duration // how long a lone item waits for company; 0 means not at all
	Queue   int           // callers that may wait before Do blocks; 0 means 4×Max
	Grace   time.Duration // how long Close lets trips go on before their context ends; 0 means 10 s
}

// Group is a set of workers that carry items handed to Do. Safe for concurrent use.
type Group[T any] struct {
	trip    Trip[T]
	opt     Options
	in      chan *ticket[T]
	ctx     context.Context
	cancel  context.CancelFunc
	done    sync.WaitGroup
	closing chan struct{}
	once    sync.Once
}

type ticket[T any] struct {
	item *T
	err  error
	done chan struct{}
}

// New starts the workers of a group. Close must be called to stop them.
func New[T any](opt Options, trip Trip[T]) *Group[T] {
	if opt.Max <= 0 {
		opt.Max = 256
	}
	if opt.Workers <= 0 {
		opt.Workers = 1
	}
	if opt.Queue <= 0 {
		opt.Queue = 4 * opt.Max
	}
	if opt.Grace <= 0 {
		opt.Grace = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Group[T]{trip: trip, opt: opt, in: make(chan *ticket[T], opt.Queue), ctx: ctx, cancel: cancel, closing: make(chan struct{})}
	for range opt.Workers {
		g.done.Add(1)
		go g.work()
	}
	return g
}

// Do hands item to the group and waits for its own result. The trip may write
// its answer into *item; the caller reads it after Do returned without a
// context error. When ctx ends first, Do returns ctx's error and the outcome is
// unknown: the item may still be carried out.
func (g *Group[T]) Do(ctx context.Context, item *T) error {
	t := &ticket[T]{item: item, done: make(chan struct{})}
	select {
	case <-g.closing:
		return ErrClosed
	default:
	}
	select {
	case g.in <- t:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.closing:
		return ErrClosed
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ctx.Done():
		// The workers are gone, or told to go; a trip that ended just before
		// still counts.
		select {
		case <-t.done:
			return t.err
		default:
			return ErrClosed
		}
	}
}

// Close refuses new items, carries out those already waiting, and stops. Trips
// that are still under way after the grace see their context end.
func (g *Group[T]) Close() {
	g.once.Do(func() {
		close(g.closing)
		late := time.AfterFunc(g.opt.Grace, g.cancel)
		g.done.Wait()
		late.Stop()
		g.cancel()
	})
}

func (g *Group[T]) work() {
	defer g.done.Done()
	batch := make([]*ticket[T], 0, g.opt.Max)
	for {
		batch = batch[:0]
		select {
		case t := <-g.in:
			batch = append(batch, t)
		case <-g.closing:
			select {
			case t := <-g.in:
				batch = append(batch, t)
			default:
				return
			}
		}
		batch = g.fill(batch)
		g.run(batch)
	}
}

// fill takes whoever is already waiting, then lingers once if asked to, unless
// the trip is full.
func (g *Group[T]) fill(batch []*ticket[T]) []*ticket[T] {
	weight := weigh(batch[0])
	batch, weight = g.take(batch, weight)
	if g.opt.Linger <= 0 || weight >= g.opt.Max {
		return batch
	}
	timer := time.NewTimer(g.opt.Linger)
	defer timer.Stop()
	for weight < g.opt.Max {
		select {
		case t := <-g.in:
			batch, weight = append(batch, t), weight+weigh(t)
		case <-timer.C:
			return batch
		case <-g.closing:
			batch, _ = g.take(batch, weight)
			return batch
		}
	}
	return batch
}

func (g *Group[T]) take(batch []*ticket[T], weight int) ([]*ticket[T], int) {
	for weight < g.opt.Max {
		select {
		case t := <-g.in:
			batch, weight = append(batch, t), weight+weigh(t)
		default:
			return batch, weight
		}
	}
	return batch, weight
}

func weigh[T any](t *ticket[T]) int {
	if w, ok := any(t.item).(Weigher); ok {
		return w.Weight()
	}
	return 1
}

func (g *Group[T]) run(batch []*ticket[T]) {
	items := make([]*T, len(batch))
	for i, t := range batch {
		items[i] = t.item
	}
	errs := g.safely(items)
	for i, t := range batch {
		if errs != nil {
			t.err = errs[i]
		}
		close(t.done)
	}
}

// safely turns a panic in a trip into an error for each of its passengers, so
// that one bad item cannot end the process or leave callers waiting.
func (g *Group[T]) safely(items []*T) (errs []error) {
	defer func() {
		if r := recover(); r != nil {
			errs = same(len(items), fmt.Errorf("group: trip panicked: %v", r))
		}
	}()
	errs = g.trip(g.ctx, items)
	if errs != nil && len(errs) != len(items) {
		errs = same(len(items), fmt.Errorf("group: trip answered %d of %d items", len(errs), len(items)))
	}
	return errs
}

func same(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
