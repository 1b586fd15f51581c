package intake

import (
	"context"
	"sync"

	"vendline/shared/wire"
)

// births sends each cabinet that comes up what the cloud believes it can sell,
// and again when what it reports has changed that (see changed).
type births struct {
	in *Intake

	mu     sync.Mutex
	told   map[string]string // cabinet → session that was sent its stock
	due    chan errand       // cabinets to be sent their stock
	calm   map[string]bool   // cabinets whose stock was sent lately → it has changed since
	closed bool
	worker sync.WaitGroup
}

// errand is a cabinet to speak to.
type errand struct {
	cabinet string
	born    bool // it came up: it is told all that it may have lost
}

// birthQueue is how many cabinets may wait for their stock; beyond it they wait
// for their next birth.
const birthQueue = 16 << 10

func newBirths(in *Intake) *births {
	b := &births{in: in, told: map[string]string{}, due: make(chan errand, birthQueue), calm: map[string]bool{}}
	for range 4 {
		b.worker.Go(b.tell)
	}
	return b
}

func (b *births) close() {
	b.mu.Lock()
	b.closed = true
	close(b.due)
	b.mu.Unlock()
	b.worker.Wait()
}

// born queues a session's stock command, once.
func (b *births) born(s wire.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.told[s.Cabinet] == s.Session {
		return
	}
	select {
	case b.due <- errand{s.Cabinet, true}:
		b.told[s.Cabinet] = s.Session
	default:
	}
}

func (b *births) tell() {
	for e := range b.due {
		cabinet := e.cabinet
		var view []wire.StockLine
		var counted *wire.Counted
		err := b.in.retry(func(ctx context.Context) (err error) {
			view, counted, err = b.in.opt.Stock.View(ctx, cabinet)
			return err
		})
		var plan *wire.Planogram
		if err == nil && e.born && b.in.opt.Planograms != nil {
			err = b.in.retry(func(ctx context.Context) (err error) {
				plan, err = b.in.opt.Planograms.NewestPlanogram(ctx, cabinet)
				return err
			})
		}
		if err == nil {
			err = b.in.events.await(b.in.ctx) // the watch may be connected before the link that speaks
		}
		if err != nil {
			b.mu.Lock()
			delete(b.told, cabinet)
			b.mu.Unlock()
			b.in.giveUp("read the stock of a cabinet that came up", cabinet, wire.Event{}, err)
			continue
		}
		b.in.publish(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandStock, Stock: view, Counted: counted})
		if plan != nil {
			b.in.Planogram(cabinet, *plan)
		}
	}
}
