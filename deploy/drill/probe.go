package drill

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"vendline/shared/wire"
)

// Through sends one order by phone and one by scan to every cabinet and waits
// until each has gone the whole path: accepted, in MySQL, and known to the
// deduct log. It is also the touch that makes a fenced cabinet load again: a
// deduct that counts, not one that is refused.
func (l *Load) Through(ctx context.Context, s *Site) error {
	var all errgroup.Group
	for n, c := range s.Plan.Cabinets {
		w := wish{cabinet: c, user: "prober", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
		r := s.Plan.Rand(5000 + uint64(n))
		all.Go(func() error {
			for { // a no means only that an attempt was interrupted and given back
				key := newID()
				e := l.enter(Phone, key, key, w)
				a := l.call.insist(ctx, r, l.cloud+"/v1/orders", key, phoneBody(w))
				l.record(e.ID, a)
				if a.outcome == Yes {
					return s.applied(ctx, e)
				}
				if ctx.Err() != nil {
					return fmt.Errorf("drill: no order by phone comes through at %s", c)
				}
			}
		})
		all.Go(func() error {
			for {
				key := newID()
				e := l.enter(Scan, key, key, w)
				l.record(e.ID, l.call.insist(ctx, r, l.agents[c]+"/v1/scan-orders", key, scanBody(w)))
				v, err := s.judged(ctx, e)
				if err != nil {
					return err
				}
				if v.Status == "accepted" {
					return s.applied(ctx, e)
				}
			}
		})
	}
	return all.Wait()
}

// judged waits for the cloud's verdict at the cabinet.
func (s *Site) judged(ctx context.Context, e Event) (Verdict, error) {
	for {
		v, err := s.verdict(ctx, e)
		if err == nil && v.Status != "pending" && v.Status != "" {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("drill: %s has no verdict on scan %s: %q %q (last error: %v)", e.Cabinet, e.ID, v.Status, v.Code, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// applied waits until step 8 knows an order.
func (s *Site) applied(ctx context.Context, e Event) error {
	for {
		var n int
		err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_stock_deduct_log WHERE order_sn = ?", e.ID).Scan(&n)
		if err == nil && n > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drill: the deduct log does not hear of %s order %s at %s (last error: %v)", e.Kind, e.ID, e.Cabinet, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}
