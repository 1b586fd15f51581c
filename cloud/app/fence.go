package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/fence"
)

// openGate makes the gate that connections to Redis pass.
func (a *App) openGate() *fence.Gate {
	a.pass = &fence.Pass{Log: a.Deps.Log}
	a.gate = &fence.Gate{Ledger: a.Ledger, Fenced: func(s fence.Server, r fence.Reason) {
		a.Deps.Log.Warn("Redis is not believed any more: its stock is fenced and rebuilt", "place", s.Place, "reason", r)
		a.pass.Kick()
	}}
	return a.gate
}

// startFence watches Redis and rebuilds what it lost. A Redis in this process
// begins empty and ends with it: there is nothing to watch, and what is touched
// is loaded.
func (a *App) startFence(embedded bool) {
	if embedded {
		return
	}
	a.watch = &fence.Watch{Masters: a.Stock, Gate: a.gate, Clock: a.Deps.Clock, Log: a.Deps.Log}
	a.start(a.watch.Run)
	if a.Config.has(RoleReconcile) {
		a.pass.Ledger, a.pass.Stock, a.pass.Rebuild = a.Ledger, a.Stock, a.Fence.Rebuild
		a.start(a.pass.Run)
	}
}

// registerFence exposes whether Redis is there, and how much of it is stale.
func (a *App) registerFence(reg prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	if a.watch == nil {
		return
	}
	gauge("vendline_stock_up", "Whether all masters of Redis answer.", func() float64 {
		if _, why := a.watch.Away(); why != nil {
			return 0
		}
		return 1
	})
	if a.Config.has(RoleReconcile) {
		gauge("vendline_stale_cabinets", "Cabinets whose stock in Redis is to be rebuilt, as the background pass sees it.", func() float64 { return float64(a.pass.Stale()) })
	}
}
