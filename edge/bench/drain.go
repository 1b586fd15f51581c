package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/standin"
	"vendline/edge/uplink"
)

// drain fills an outbox and measures how fast it empties: published, answered by
// a stand-in for the cloud over the same broker, and the answer stored. The
// cloud's own work is not in it.
func (r *Result) drain(ctx context.Context, opt Options) error {
	events := int64(opt.Drain)
	if events == 0 {
		events = 20_000
	}
	b := opt.Broker
	if b.Cabinet == "" {
		b.Cabinet = "BENCH"
	}
	box, err := outbox.Open(ctx, outbox.Options{Dir: filepath.Join(opt.Dir, "drain", time.Now().Format("150405.000000000")), Cabinet: b.Cabinet})
	if err != nil {
		return err
	}
	defer box.Close()
	if _, err := fill(ctx, box, events, 256, func() bool { return true }); err != nil {
		return err
	}
	cloud, err := standin.Start(ctx, standin.Options{Broker: b.URL, User: b.CloudUser, Password: b.CloudPassword,
		Client: "bench-cloud-" + b.Cabinet, Cabinet: b.Cabinet, Forget: true})
	if err != nil {
		return err
	}
	defer cloud.Stop()
	link, err := uplink.New(box, uplink.Config{Cabinet: b.Cabinet, Broker: b.URL, Username: b.Cabinet, Password: b.CabinetPassword,
		Session: ident.New(nil, nil).V4})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	began := time.Now()
	go func() { defer close(ended); _ = link.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for box.Depth() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events left: %w", box.Depth(), events, ctx.Err())
		}
	}
	r.DrainEvents, r.DrainPerSecond = int(events), float64(events)/time.Since(began).Seconds()
	r.DrainResent = link.Status().Resent
	return nil
}
