package app

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// registerMetrics exposes the ledger's counters, and what waits in it.
func (a *App) registerMetrics(reg prometheus.Registerer) {
	a.registerBacklog(reg)
	c := a.Ledger.Counters()
	for _, m := range []struct {
		name, help string
		value      *atomic.Int64
	}{
		{"vendline_order_commits_total", "Transactions that placed orders.", &c.OrderCommits},
		{"vendline_orders_total", "Orders placed.", &c.Orders},
		{"vendline_stock_commits_total", "Transactions that moved stock.", &c.StockCommits},
		{"vendline_stock_updates_total", "UPDATE statements on stock rows.", &c.StockUpdates},
		{"vendline_statements_total", "Statements taken in by step 8.", &c.Statements},
		{"vendline_transitions_total", "Order transitions.", &c.Transitions},
		{"vendline_transaction_retries_total", "Transactions run again after a deadlock, lock wait or lost connection.", &c.Conflicts},
		{"vendline_shortages_total", "Physical shortages settled.", &c.Shortages},
		{"vendline_dead_letters_total", "Dead letters written.", &c.DeadLetters},
		{"vendline_orphans_total", "Holds given back that no placement finished.", &c.OrphansClosed},
	} {
		value := m.value
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.name, Help: m.help}, func() float64 { return float64(value.Load()) }))
	}
}
