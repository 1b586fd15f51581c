package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"vendline/cloud/api"
	"vendline/cloud/ledger"
	"vendline/cloud/payment"
)

// openHTTP takes the address, so that a busy port is an error of the start.
func (a *App) openHTTP(ctx context.Context) error {
	if !a.Config.has(RoleAPI) {
		return nil
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.registerMetrics(reg)
	a.registerPayments(reg)
	a.registerFence(reg)
	a.registerReconcile(reg)
	a.registerFallback(reg)
	a.registerIntents(reg)
	a.registerAlerts(reg)
	opt := api.Options{
		Orders: a.Orders, Payments: payments{a.Payments, a.Ledger}, Truth: truth{a}, Catalogue: a.catalogue, Checks: a.checks(), Connection: a.connection,
		Registry: reg, Clock: a.Deps.Clock, ID: a.Deps.ID, Log: a.Deps.Log,
	}
	if a.Stock != nil {
		opt.Live = a.slow.stock
	}
	a.offerIntents(&opt)
	server, err := api.NewServer(opt)
	if err != nil {
		return err
	}
	if err := a.openFleet(server); err != nil {
		return err
	}
	if err := a.openShop(server); err != nil {
		return err
	}
	a.mountSandbox(server)
	if a.listener, err = api.Listen(ctx, a.Config.HTTP, a.Deps.Log); err != nil {
		return err
	}
	a.onClose(func() { _ = a.listener.Close() })
	a.server = server
	return nil
}

// Serve answers HTTP until ctx ends and requests under way are answered. A
// process without the api role just waits.
func (a *App) Serve(ctx context.Context) error {
	if a.server == nil {
		<-ctx.Done()
		return nil
	}
	return a.server.Serve(ctx, a.listener)
}

// HTTPAddr is where Serve answers, host:port.
func (a *App) HTTPAddr() string {
	if a.listener == nil {
		return ""
	}
	return a.listener.Addr().String()
}

// checks are the parts that have to answer before this process is ready.
func (a *App) checks() []api.Check {
	list := []api.Check{{Name: "ledger", Ping: a.Ledger.Ping}}
	if a.Stock != nil {
		list = append(list, a.checkStock())
	}
	if a.queue != nil && a.Config.has(RoleConsumer) {
		list = append(list, api.Check{Name: "queue", Ping: func(ctx context.Context) error {
			_, err := a.depth(ctx)
			return err
		}})
	}
	if a.intake != nil {
		list = append(list, api.Check{Name: "mqtt", Ping: func(context.Context) error {
			if !a.intake.Ready() {
				return errors.New("not connected")
			}
			return nil
		}})
	}
	return list
}

// depth is how many stock messages wait for step 8.
func (a *App) depth(ctx context.Context) (int64, error) {
	if a.queue == nil {
		return 0, errors.New("the synchronous mode has no queue")
	}
	topic := a.Config.topics().Stock
	return a.queue.Depth(ctx, topic, groupOf(topic))
}

// payments is an order's money: what is done with it, and what is known of it.
type payments struct {
	*payment.Service
	*ledger.Ledger
}

// Account is the ledger's.
func (p payments) Account(ctx context.Context, id string) (payment.Account, error) {
	return p.Ledger.Account(ctx, id)
}

// truth is the ledger's view of what can be sold.
type truth struct{ *App }

func (t truth) Available(ctx context.Context, cabinet string) (map[string]int64, error) {
	return t.Ledger.Sellable(ctx, cabinet)
}
