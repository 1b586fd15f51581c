package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/api"
	"vendline/cloud/ledger"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
)

// How often rows of payments come again when a provider does not answer: the
// lease doubles from the first to the longest.
const (
	longestNotice = 10 * time.Minute
	longestCheck  = 2 * time.Minute
	longestLate   = 10 * time.Second // what becomes of late money is decided within a minute
	longestRefund = 10 * time.Minute
)

// startPayments lets orders be paid: it comes before whatever may end a hold,
// since an open charge has to be closed first.
func (a *App) startPayments(context.Context) error {
	providers := map[string]payment.Provider{}
	for name, p := range a.Config.Payments {
		providers[name] = p
	}
	if file, ok := a.Config.embeddedSandbox(); ok {
		p, err := a.openSandbox(file)
		if err != nil {
			return err
		}
		providers[p.Name()] = p
	}
	a.Payments = &payment.Service{
		Ledger: a.Ledger, Providers: providers, Stock: a.Orders, PublicURL: a.Config.publicURL(), Clock: a.Deps.Clock, Log: a.Deps.Log,
	}
	a.Orders.Charges, a.Orders.Sessions = a.Payments, a.Ledger
	a.carry(&outbox.Runner{Kind: outbox.KindNotice, Carry: a.Payments.CarryNotices, Lease: ledger.QuickLease, Longest: longestNotice, Workers: 4})
	a.carry(&outbox.Runner{Kind: outbox.KindCheck, Carry: a.Payments.CarryChecks, Lease: ledger.CheckLease, Longest: longestCheck})
	a.carry(&outbox.Runner{Kind: outbox.KindLate, Carry: a.Payments.CarryLate, Lease: ledger.QuickLease, Longest: longestLate, Workers: 2})
	a.carry(&outbox.Runner{Kind: outbox.KindRefund, Carry: a.Payments.CarryRefunds, Lease: ledger.QuickLease, Longest: longestRefund, Workers: 2})
	return nil
}

// openSandbox starts a sandbox provider in this process; its page is mounted
// under sandboxPath. The secret need not outlive the process: both sides are here.
func (a *App) openSandbox(file string) (*sandbox.Provider, error) {
	secret, merchant := rand.Text(), "vendline"
	s, err := sandbox.NewServer(sandbox.Options{
		PublicURL: a.Config.publicURL() + sandboxPath, Secret: secret, Merchant: merchant, File: file, Clock: a.Deps.Clock, Log: a.Deps.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open the sandbox: %w", err)
	}
	a.onClose(func() { _ = s.Close() })
	p, err := sandbox.New(sandbox.Config{BaseURL: "http://sandbox.invalid", Secret: secret, Merchant: merchant, HTTP: s.Client(), Clock: a.Deps.Clock})
	if err != nil {
		return nil, fmt.Errorf("open the sandbox: %w", err)
	}
	a.Sandbox = s
	a.start(func(ctx context.Context) {
		if err := s.Run(ctx); err != nil && ctx.Err() == nil {
			a.Deps.Log.Error("the sandbox sends no callbacks any more", "error", err)
		}
	})
	return p, nil
}

// sandboxPath is where shoppers of an embedded sandbox pay.
const sandboxPath = "/sandbox"

// mountSandbox shows the page of an embedded sandbox, and not its API: nobody
// but this process asks for it.
func (a *App) mountSandbox(server *api.Server) {
	if a.Sandbox == nil {
		return
	}
	page := http.StripPrefix(sandboxPath, a.Sandbox)
	server.Handle(http.MethodGet, sandboxPath+"/pay/:trade_no", page)
	server.Handle(http.MethodPost, sandboxPath+"/pay/:trade_no", page)
}

// registerPayments exposes what payments count.
func (a *App) registerPayments(reg prometheus.Registerer) {
	c := &a.Payments.Counters
	for _, m := range []struct {
		name, outcome, help string
		value               *atomic.Int64
	}{
		{"captures", "paid", captures, &c.Paid},
		{"captures", "again", captures, &c.Again},
		{"captures", "late", captures, &c.Late},
		{"captures", "duplicate", captures, &c.Twice},
		{"captures", "mismatch", captures, &c.Mismatched},
		{"notices", "kept", notices, &c.NoticesKept},
		{"notices", "refused", notices, &c.NoticesRefused},
		{"refunds", "done", refunds, &c.RefundsDone},
		{"refunds", "stuck", refunds, &c.RefundsStuck},
		{"provider_calls", "failed", "Calls to payment providers without a usable answer.", &c.ProviderFailures},
	} {
		value := m.value
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "vendline_" + m.name + "_total", Help: m.help,
			ConstLabels: prometheus.Labels{"outcome": m.outcome}}, func() float64 { return float64(value.Load()) }))
	}
}

const (
	captures = "Money that arrived: it paid, was booked before, came late, came for a paid order, or was not what was asked."
	notices  = "Callbacks of payment providers."
	refunds  = "Refunds that ended."
)
