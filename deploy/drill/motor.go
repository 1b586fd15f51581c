package drill

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"vendline/shared/wire"
)

// Motors are the cabinets' firmware: one for each asks its agent what to
// dispense, turns its motors, and insists on the result until the agent has it
// on its disk. It never starts a command twice, and enters what dropped.
type Motors struct {
	book *Book
	call *caller
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// jams is how many of a hundred lines jam.
const jams = 8

// StartMotors lets firmware run at every agent. Stop must be called.
func StartMotors(plan Plan, book *Book, agents map[string]string) *Motors {
	ctx, stop := context.WithCancel(context.Background())
	m := &Motors{book: book, call: newCaller(), stop: stop}
	n := uint64(0)
	for _, c := range plan.Cabinets {
		r := plan.Rand(7000 + n)
		n++
		m.wg.Go(func() { m.run(ctx, r, c, agents[c]) })
	}
	return m
}

// Stop ends all firmware.
func (m *Motors) Stop() {
	m.stop()
	m.wg.Wait()
	m.call.close()
}

type command struct {
	ID    string      `json:"id"`
	Order string      `json:"order"`
	Lines []wire.Line `json:"lines"`
}

type result struct {
	SKU    string             `json:"sku"`
	State  wire.DispenseState `json:"state"`
	Units  int                `json:"units"`
	Detail string             `json:"detail,omitempty"`
}

func (m *Motors) run(ctx context.Context, r *rand.Rand, cabinet, agent string) {
	started := map[string]bool{}
	for ctx.Err() == nil {
		// Handed out, and the answer never came: the motor has not turned for it.
		for _, c := range m.ask(ctx, agent+"/v1/commands?state=dispensing") {
			if !started[c.ID] {
				started[c.ID] = true
				m.report(ctx, r, cabinet, agent, c, func(l wire.Line) result {
					return result{SKU: l.SKU, State: wire.Failed, Detail: "never started"}
				})
			}
		}
		for _, c := range m.ask(ctx, agent+"/v1/commands?wait=1s") {
			if started[c.ID] {
				m.book.Twice(c.Order, c.ID)
				continue
			}
			started[c.ID] = true
			m.report(ctx, r, cabinet, agent, c, func(l wire.Line) result { return turn(r, l) })
		}
	}
}

// turn is what a motor does with one line.
func turn(r *rand.Rand, l wire.Line) result {
	if r.IntN(100) < jams && l.SKU != ProbeSKU { // a slot that is out of order would look like a path that is closed
		return result{SKU: l.SKU, State: wire.Failed, Units: r.IntN(l.Qty), Detail: "motor stalled"}
	}
	return result{SKU: l.SKU, State: wire.Dispensed, Units: l.Qty}
}

// report turns what a command asks for, line by line, and insists on each
// result. A slot that jammed is freed at once.
func (m *Motors) report(ctx context.Context, r *rand.Rand, cabinet, agent string, c command, do func(wire.Line) result) {
	results := make([]result, len(c.Lines))
	for i, l := range c.Lines {
		results[i] = do(l)
		m.book.Dropped(c.Order, l.SKU, results[i].Units)
	}
	m.call.insist(ctx, r, agent+"/v1/commands/"+c.ID+"/result", "", encode(map[string]any{"lines": results}))
	for _, l := range results {
		if l.State == wire.Failed {
			m.call.insist(ctx, r, agent+"/v1/facts", "freed "+c.ID+" "+l.SKU, encode(map[string]string{"kind": string(wire.FactSlotFault), "slot": l.SKU, "fault": ""}))
		}
	}
}

// ask reads commands; none when the agent does not answer.
func (m *Motors) ask(ctx context.Context, url string) []command {
	var got struct {
		Commands []command `json:"commands"`
	}
	if err := m.call.get(ctx, url, &got); err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	}
	return got.Commands
}
