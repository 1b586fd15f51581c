// Command vend is what people run: demo, the real stack, bench, sim, warm-up.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"vendline/deploy/stack/stackcmd"
)

type cli struct {
	Demo      demoCmd        `cmd:"" help:"Everything in one process: ten cabinets, shoppers, a live page. Needs nothing else."`
	Up        upCmd          `cmd:"" help:"The real stack on loopback: redis, mariadb, mosquitto, rocketmq, vend-cloud and two agents."`
	Down      stackcmd.Down  `cmd:"" help:"Stop what 'up' started; the data stays."`
	Stack     stackcmd.Stack `cmd:"" help:"The real servers alone, for tests and drills."`
	Seed      seedCmd        `cmd:"" help:"Register products and cabinets with opening stock."`
	Warmup    warmupCmd      `cmd:"" help:"Load cabinets' stock into Redis before a peak."`
	Reconcile reconcileCmd   `cmd:"" help:"Compare Redis with the ledger to the unit, and repair what differs."`
	Plan      planogramCmd   `cmd:"" name:"planogram" help:"What cabinets hold in which slot, and at which price."`
	Letters   lettersCmd     `cmd:"" help:"Messages that nobody could process: list, show, redrive, discard."`
	Cases     casesCmd       `cmd:"" help:"What waits for a person: list, close with a note."`
	Refund    refundCmd      `cmd:"" help:"Refunds that the provider did not do."`
	Outbox    outboxCmd      `cmd:"" help:"What waits in the outbox, and what is stuck there."`
	Alerts    alertsCmd      `cmd:"" help:"What needs somebody now; snooze it, or test a sink."`
	Bench     benchCmd       `cmd:"" help:"Measure the synchronous mode beside the asynchronous one, and the edge."`
	Sim       simCmd         `cmd:"" help:"Random histories of the whole system by a seed: crashes, losses, duplicates, time."`
	Replay    replayCmd      `cmd:"" help:"Tell the history of one seed of 'sim', step by step."`
	Drills    drillTableCmd  `cmd:"" name:"drill-table" help:"The README's reliability table, from what drills wrote down."`
	Version   kong.VersionFlag
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("vend"), kong.Description("Vendline: vending cabinets that sell by scan."),
		kong.Vars{"version": version()}, kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	err := k.Run()
	var exit stackcmd.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.Code)
	case err != nil:
		fmt.Fprintln(os.Stderr, "vend:", err)
		os.Exit(1)
	}
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
