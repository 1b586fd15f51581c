package drill

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"vendline/cloud/app"
	"vendline/shared/wire"
)

// atMost is how long vend-cloud may take for an answer, whatever is broken
// behind it.
const atMost = 20 * time.Second

// Patient is somebody who orders again and again while a fault lasts and waits
// for each answer to the end: one that does not come in time is a finding.
type Patient struct {
	end  context.CancelFunc
	done chan struct{}
}

// Ask starts one at a cabinet's probe. Stop must be called.
func (s *Site) Ask() *Patient {
	ctx, end := context.WithCancel(context.Background())
	p := &Patient{end: end, done: make(chan struct{})}
	call := &caller{client: &http.Client{Timeout: atMost, Transport: &http.Transport{}}}
	go func() {
		defer close(p.done)
		defer call.close()
		w := wish{cabinet: s.Plan.Cabinets[0], user: "patient", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
		for ctx.Err() == nil {
			s.askOnce(call, w)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return p
}

// askOnce orders, not through the link of phones, until it hears yes or no; it
// goes on when the fault is over.
func (s *Site) askOnce(call *caller, w wish) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	key := app.NewID()
	s.book.Begin(Event{ID: key, Key: key, Kind: Phone, Cabinet: w.cabinet, User: w.user, Lines: w.lines})
	for ctx.Err() == nil {
		asked := time.Now()
		a := call.post(ctx, "http://"+s.Cloud.Addr()+"/v1/orders", key, phoneBody(w))
		switch {
		case a.status == 0 && time.Since(asked) >= atMost:
			s.book.Hung(fmt.Sprintf("order %s, asked for at %s, got no answer in %s", key, asked.Format("15:04:05"), atMost))
		case a.outcome == Yes:
			s.book.Said(key, a.body)
			return
		case a.outcome == No:
			s.book.Refused(key, a.code, a.sent)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Stop ends the asking.
func (p *Patient) Stop() {
	p.end()
	<-p.done
}
