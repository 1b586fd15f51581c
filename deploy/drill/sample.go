package drill

import (
	"context"
	"sync"
	"time"
)

// Sampler looks during the load, in one statement and so as of one instant,
// whether more units are promised than there ever were: Σ of the lines of orders
// in force against opening stock and facts. `total` would lag behind: a restock
// may be sold from as soon as it is recorded, and reaches `total` at step 8.
type Sampler struct {
	site   *Site
	book   *Book
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	taken int
	worst map[string]int64 // by fault: units oversold, at most
}

// StartSampler samples until Stop.
func StartSampler(site *Site, book *Book) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Sampler{site: site, book: book, cancel: cancel, done: make(chan struct{}), worst: map[string]int64{}}
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			p.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(400 * time.Millisecond):
			}
		}
	}()
	return p
}

// Stop ends the sampling and says how often it looked, and by how many units,
// at most, a SKU was oversold, by fault.
func (p *Sampler) Stop() (taken int, worst map[string]int64) {
	p.cancel()
	<-p.done
	return p.taken, p.worst
}

func (p *Sampler) look(ctx context.Context) {
	at := time.Now()
	sums, err := p.site.promised(ctx)
	if err != nil {
		return // the database is away, or was a moment ago
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	fault := p.book.FaultAt(at)
	p.worst[fault] = max(p.worst[fault], oversold(p.site.Plan, sums))
}

type shelf struct{ cabinet, sku string }

// promised sums, per shelf, what facts brought less what orders in force take.
func (s *Site) promised(ctx context.Context) (map[shelf]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT cabinet_id, sku_id, SUM(units) FROM (
		SELECT o.cabinet_id, l.sku_id, -l.qty AS units FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
			WHERE o.status IN ('PRE_RESERVED', 'CONSUMED')
		UNION ALL
		SELECT f.cabinet_id, l.sku_id, CASE WHEN f.kind IN ('SALE', 'LOSS') THEN -l.qty ELSE l.qty END FROM trade_fact f JOIN trade_fact_line l ON l.fact_id = f.fact_id
		) AS moves GROUP BY cabinet_id, sku_id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sums := map[shelf]int64{}
	for rows.Next() {
		var k shelf
		var n int64
		if err := rows.Scan(&k.cabinet, &k.sku, &n); err != nil {
			return nil, err
		}
		sums[k] = n
	}
	return sums, rows.Err()
}

// oversold is by how many units the worst shelf is oversold; 0 if none is.
func oversold(p Plan, sums map[shelf]int64) int64 {
	worst := int64(0)
	opening := p.Opening()
	for k, n := range sums {
		worst = max(worst, -(opening[k.sku] + n))
	}
	return worst
}
