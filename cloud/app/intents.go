package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/api"
	"vendline/cloud/callback"
	"vendline/cloud/intent"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

const (
	// Intents that come within a few milliseconds are placed together: fuller
	// pipelines and commits. Nobody waits on the line for it.
	intentLinger  = 4 * time.Millisecond
	longestIntent = 10 * time.Second // so that patience ends about when it is said to
	countEvery    = time.Second
)

// startIntents places orders that were taken in without an answer, and tells
// whoever asked for it what became of them.
func (a *App) startIntents(ctx context.Context) error {
	a.Orders.Intents, a.Orders.Room = a.Ledger, &order.Room{Most: a.Config.Intents}
	a.countIntents(ctx) // else a flood right after the start were measured against nothing
	a.start(func(ctx context.Context) {
		tick := time.NewTicker(countEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.countIntents(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	a.intents = &intent.Runner{Orders: a.Orders, Ledger: a.Ledger, Clock: a.Deps.Clock}
	a.carry(&outbox.Runner{Kind: outbox.KindIntent, Carry: a.intents.Carry, Lease: ledger.IntentLease, Longest: longestIntent,
		Linger: intentLinger, Workers: 4, Batch: 8})
	if a.Config.CallbackSecret == "" {
		return nil
	}
	a.callbacks = &callback.Runner{Ledger: a.Ledger, Secret: []byte(a.Config.CallbackSecret),
		Policy: callback.Policy{Loopback: a.Config.CallbackLoopback}, Clock: a.Deps.Clock, Log: a.Deps.Log}
	a.carry(&outbox.Runner{Kind: outbox.KindCallback, Carry: a.callbacks.Carry, Lease: callback.Lease, Longest: callback.Longest, Workers: 4})
	return nil
}

func (a *App) countIntents(ctx context.Context) {
	waiting, used, err := a.Ledger.CountIntents(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.Deps.Log.Debug("waiting intents could not be counted", "error", err)
		}
		return
	}
	a.Orders.Room.Set(waiting, used)
}

// offerIntents makes the API take intents, and callback URLs if callbacks are sent.
func (a *App) offerIntents(opt *api.Options) {
	opt.Intents = a.Orders
	if a.callbacks != nil {
		opt.Callback = a.callbacks.Policy.Check
	}
}

func (a *App) registerIntents(reg prometheus.Registerer) {
	c := &a.intents.Counters
	count := func(name, outcome, help string, value *atomic.Int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help,
			ConstLabels: prometheus.Labels{"outcome": outcome}}, func() float64 { return float64(value.Load()) }))
	}
	const intents, callbacks = "vendline_intents_total", "vendline_callbacks_total"
	const decided = "Orders taken in without an answer that this process decided."
	count(intents, "placed", decided, &c.Placed)
	count(intents, "stock_short", decided, &c.Short)
	count(intents, "purchase_limit", decided, &c.Limited)
	count(intents, "overloaded", decided, &c.Overloaded)
	count(intents, "refused", decided, &c.Refused)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vendline_intents_waiting",
		Help: "Orders that wait to be placed, as this process last counted them."}, func() float64 { return float64(a.Orders.Room.Waiting()) }))
	if a.callbacks == nil {
		return
	}
	const sent = "Attempts to call back that were answered 2xx, or failed; and callbacks given up."
	count(callbacks, "delivered", sent, &a.callbacks.Delivered)
	count(callbacks, "failed", sent, &a.callbacks.Failed)
	count(callbacks, "dead", sent, &a.callbacks.Dead)
}
