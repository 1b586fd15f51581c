package api

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// gate bounds how many requests of a kind are under way: beyond that, a quick
// "later" beats a queue that only makes everybody late.
type gate struct {
	most int64
	now  atomic.Int64
}

func (g *gate) enter() bool {
	if g.now.Add(1) > g.most {
		g.now.Add(-1)
		return false
	}
	return true
}

func (g *gate) leave() { g.now.Add(-1) }

func (g *gate) gauge(name, help string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vendline_http_" + name, Help: help}, func() float64 { return float64(g.now.Load()) })
}
