package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/api"
	"vendline/cloud/deduct"
	"vendline/cloud/fallback"
	"vendline/cloud/order"
)

// degraded is what is said while Redis is away.
const degraded = "orders go by the ledger"

// slow is the way without Redis: what decides, what goes through it, and the
// stock filter as everybody reaches it.
type slow struct {
	breaker *fallback.Breaker
	stock   *fallback.Stock
	placer  *fallback.Placer
}

// openFallback puts a breaker before Redis. A Redis that is away at the start is
// no reason not to start.
func (a *App) openFallback(ctx context.Context) {
	a.slow.breaker = fallback.NewBreaker(fallback.Options{
		Probe: a.Stock.Probe, Log: a.Deps.Log,
		Answered: func(err error) bool { return errors.Is(err, deduct.ErrMoved) || errors.Is(err, deduct.ErrLoaded) },
	})
	a.slow.stock = &fallback.Stock{Filter: a.Stock, Breaker: a.slow.breaker}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := a.Stock.Probe(ctx); err != nil {
		a.Deps.Log.Warn("Redis does not answer at the start; this service starts without it", "error", err)
		a.slow.breaker.Trip(err)
	}
	a.start(a.slow.breaker.Run)
}

// startPatience is how long a start waits for Redis.
const startPatience = 2 * time.Second

// away reports whether Redis is known to be away: what needs it rests.
func (a *App) away() bool { return a.slow.breaker != nil && a.slow.breaker.Away() }

// openPlacer goes through Redis, or by the ledger while it is away.
func (a *App) openPlacer() order.Placer {
	fast := &order.Fast{Stock: a.slow.stock, Ledger: a.Ledger, Fence: a.Fence}
	a.slow.placer = fallback.NewPlacer(fast, a.Ledger, a.slow.breaker, a.Config.FallbackRate, fallback.DefaultEach)
	return a.slow.placer
}

// checkStock says whether Redis is there; without it this process stays ready.
func (a *App) checkStock() api.Check {
	return api.Check{Name: "stock", Without: degraded, Ping: func(ctx context.Context) error {
		if a.away() {
			return fallback.ErrAway
		}
		return a.Stock.Ping(ctx)
	}}
}

// registerFallback exposes how orders are placed.
func (a *App) registerFallback(reg prometheus.Registerer) {
	if a.slow.breaker == nil {
		return
	}
	count := func(name, help string, value func() int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	count("vendline_fallback_orders_total", "Orders admitted by the ledger alone while Redis was away.", a.slow.placer.Orders.Load)
	count("vendline_fallback_refused_total", "Orders sent away meanwhile, beyond the fallback's rate.", a.slow.placer.Turned.Load)
	count("vendline_stock_breaker_opened_total", "Times that Redis was found away.", a.slow.breaker.Opened)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vendline_stock_breaker_state",
		Help: "0: orders go through Redis. 1: it is being probed. 2: it is away."}, func() float64 {
		state, _ := a.slow.breaker.State()
		return map[string]float64{"half-open": 1, "open": 2}[state]
	}))
}
