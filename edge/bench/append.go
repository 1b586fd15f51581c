package bench

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

func basket() *wire.Order {
	return &wire.Order{User: "u-1000001", Lines: []wire.Line{{SKU: "cola-330", Qty: 2}, {SKU: "water-500", Qty: 1}}}
}

func (r *Result) appends(ctx context.Context, opt Options) (err error) {
	if r.Append1PerSecond, err = appendRate(ctx, opt, 1); err != nil {
		return err
	}
	r.Fsync1Micros = 1e6 / r.Append1PerSecond
	r.Append64PerSecond, err = appendRate(ctx, opt, 64)
	return err
}

// appendRate is how many appends a second are promised, each after its sync.
func appendRate(ctx context.Context, opt Options, writers int) (float64, error) {
	events, longest := int64(opt.Appends), opt.Longest
	if events == 0 {
		events = 20_000
	}
	if longest == 0 {
		longest = 10 * time.Second
	}
	box, err := outbox.Open(ctx, outbox.Options{Dir: filepath.Join(opt.Dir, "append", time.Now().Format("150405.000000000"))})
	if err != nil {
		return 0, err
	}
	defer box.Close()
	began := time.Now()
	n, err := fill(ctx, box, events, writers, func() bool { return time.Since(began) < longest })
	return float64(n) / time.Since(began).Seconds(), err
}

// fill appends up to events orders from so many writers while more says so, and
// returns how many were promised.
func fill(ctx context.Context, box *outbox.Outbox, events int64, writers int, more func() bool) (int64, error) {
	mint := ident.New(nil, nil)
	var taken, kept atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for taken.Add(1) <= events && more() && failed.Load() == nil {
				id, err := mint.V7()
				if err == nil {
					_, err = box.Append(ctx, outbox.Entry{ID: id, At: time.Now().UnixMilli(), Order: basket()})
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				kept.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return kept.Load(), *err
	}
	return kept.Load(), nil
}
