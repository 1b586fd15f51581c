package drill

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vendline/shared/wire"
)

// Rates are how much is begun a second. They leave two cores room for all the
// servers; under a fault everybody waits and asks again, so less is begun.
type Rates struct{ Phone, Scan, Restock float64 }

// DefaultRates make shortages: the shelves hold a few hundred units, and what is
// held comes back only when its time is over.
func DefaultRates() Rates { return Rates{Phone: 140, Scan: 50, Restock: 2} }

// workers ask at once, per second of rate: enough for an answer to take 300 ms.
const workersPerRate = 0.3

// Load is people: at phones, at cabinets, and one with a trolley.
type Load struct {
	plan   Plan
	book   *Book
	cloud  string            // base URL
	agents map[string]string // cabinet → base URL
	call   *caller

	begin  context.Context // nothing new once it is over
	settle context.CancelFunc
	hope   context.Context // nobody asks again once it is over
	giveUp context.CancelFunc
	wg     sync.WaitGroup
}

// StartLoad begins to order. Stop must be called.
func StartLoad(plan Plan, book *Book, cloud string, agents map[string]string, rates Rates) *Load {
	l := &Load{plan: plan, book: book, cloud: cloud, agents: agents, call: newCaller()}
	l.begin, l.settle = context.WithCancel(context.Background())
	l.hope, l.giveUp = context.WithCancel(context.Background())
	l.crew(1000, rates.Phone, l.byPhone)
	l.crew(2000, rates.Scan, l.byScan)
	l.crew(3000, rates.Restock, l.restock)
	return l
}

// crew works at a rate, each member with a source of chance of its own.
func (l *Load) crew(part uint64, perSecond float64, work func(r *rand.Rand)) {
	pace := rate.NewLimiter(rate.Limit(perSecond), 1)
	for n := range uint64(2 + perSecond*workersPerRate) {
		r := l.plan.Rand(part + n)
		l.wg.Go(func() {
			for pace.Wait(l.begin) == nil {
				work(r)
			}
		})
	}
}

// Stop begins nothing new and waits until everybody has a definite answer, for
// at most d; who has none by then stays unanswered in the book.
func (l *Load) Stop(d time.Duration) {
	l.settle()
	late := time.AfterFunc(d, l.giveUp)
	l.wg.Wait()
	late.Stop()
	l.giveUp()
	l.call.close()
}

// enter books what is about to be asked for, before anything is sent.
func (l *Load) enter(kind Kind, id, key string, w wish) Event {
	lines, err := wire.Basket(w.lines)
	if err != nil {
		panic(err) // unreachable: the plan draws small baskets
	}
	e := Event{ID: id, Key: key, Kind: kind, Cabinet: w.cabinet, User: w.user, Lines: lines}
	l.book.Begin(e)
	return e
}

// record books a definite answer.
func (l *Load) record(id string, a answer) {
	switch a.outcome {
	case Yes:
		l.book.Said(id, a.body)
	case No:
		l.book.Refused(id, a.code, a.sent)
	}
}
