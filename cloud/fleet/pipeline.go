package fleet

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// pipelineView is how far the path between an order and its stock is behind.
// Null is unknown.
type pipelineView struct {
	Outbox  []backlogView `json:"outbox"`       // local_msg, by kind
	Queue   *int64        `json:"queue"`        // messages step 8 has not acknowledged
	Letters *int64        `json:"dead_letters"` // messages nobody could process
	Rate    *float64      `json:"orders_per_second"`
}

type backlogView struct {
	Kind     string `json:"kind"`
	Depth    int64  `json:"depth"`
	OldestMS int64  `json:"oldest_ms"` // age of the oldest row
}

// readPipelineParts asks all sources at once. What one of them cannot tell stays
// unknown, and the others are shown.
func (f *Fleet) readPipelineParts(ctx context.Context) (v pipelineView, failed map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	errs := make([]error, 3)
	var g errgroup.Group
	g.Go(func() error {
		stats, err := f.opt.Ledger.Backlog(ctx)
		if errs[0] = err; err != nil {
			return nil
		}
		v.Outbox = make([]backlogView, len(stats))
		for i, s := range stats {
			v.Outbox[i] = backlogView{Kind: string(s.Kind), Depth: s.Depth, OldestMS: s.Oldest.Milliseconds()}
		}
		return nil
	})
	g.Go(func() error {
		n, err := f.opt.Ledger.CountLetters(ctx)
		if errs[1] = err; err == nil {
			v.Letters = &n
		}
		return nil
	})
	if f.opt.Depth != nil {
		g.Go(func() error {
			n, err := f.opt.Depth(ctx)
			if errs[2] = err; err == nil {
				v.Queue = &n
			}
			return nil
		})
	}
	_ = g.Wait() // the parts keep their own errors
	failed = map[string]error{}
	for i, source := range []string{sourceLedger, sourceLedger, sourceQueue} {
		if errs[i] != nil {
			failed[source] = errs[i]
		}
	}
	return v, failed
}

// Sources, as the page names them when they do not answer.
const (
	sourceLedger = "ledger"
	sourceStock  = "stock"
	sourceQueue  = "queue"
)

// readTimeout bounds one read of a source.
const readTimeout = 3 * time.Second

// rate is orders per second between two looks at a counter.
type rate struct {
	n  int64
	at time.Time
}

// next returns nil at the first look, and when the counter is not there.
func (r *rate) next(placed func() int64, now time.Time) *float64 {
	was := *r
	if r.at = now; placed == nil {
		return nil
	}
	r.n = placed()
	if was.at.IsZero() || !now.After(was.at) {
		return nil
	}
	return ref(max(0, float64(r.n-was.n)) / now.Sub(was.at).Seconds())
}
