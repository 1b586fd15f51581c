package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// scrapeTimeout bounds what one scrape asks of the ledger.
const scrapeTimeout = 3 * time.Second

// backlog tells of the outbox and the dead letters when it is scraped. What the
// ledger does not answer has no sample: unknown is not 0.
type backlog struct {
	app                          *App
	depth, oldest, stuck, opened *prometheus.Desc
}

func (a *App) registerBacklog(reg prometheus.Registerer) {
	kind := []string{"kind"}
	reg.MustRegister(&backlog{
		app:    a,
		depth:  prometheus.NewDesc("vendline_outbox_depth", "Outbox rows that are not carried out yet.", kind, nil),
		oldest: prometheus.NewDesc("vendline_outbox_oldest_seconds", "Age of the oldest outbox row; 0 when there is none.", kind, nil),
		stuck:  prometheus.NewDesc("vendline_outbox_stuck", "Outbox rows that were tried again and again.", kind, nil),
		opened: prometheus.NewDesc("vendline_dead_letters_open", "Dead letters that wait for somebody.", nil, nil),
	})
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "vendline_stalled_rows_total",
		Help: "Stock rows applied directly, since the queue brought nothing."}, func() float64 {
		if a.stalled == nil {
			return 0
		}
		return float64(a.stalled.Taken.Load())
	}))
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.depth, b.oldest, b.stuck, b.opened} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (b *backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(b.app.ctx, scrapeTimeout)
	defer cancel()
	stats, err := b.app.Ledger.Backlog(ctx)
	for _, s := range stats {
		kind := string(s.Kind)
		to <- prometheus.MustNewConstMetric(b.depth, prometheus.GaugeValue, float64(s.Depth), kind)
		to <- prometheus.MustNewConstMetric(b.oldest, prometheus.GaugeValue, s.Oldest.Seconds(), kind)
		to <- prometheus.MustNewConstMetric(b.stuck, prometheus.GaugeValue, float64(s.Stuck), kind)
	}
	n, also := b.app.Ledger.CountLetters(ctx)
	if also == nil {
		to <- prometheus.MustNewConstMetric(b.opened, prometheus.GaugeValue, float64(n))
	}
	if err != nil || also != nil {
		b.app.Deps.Log.Debug("a scrape knows nothing of the outbox", "backlog", err, "letters", also)
	}
}
