// Command vend-edge is the agent of one vending cabinet.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"vendline/edge/agent"
	"vendline/edge/outbox"
	"vendline/edge/uplink"
	"vendline/shared/clock"
)

func main() {
	// The child that checks an outbox file is this binary: kept apart from the
	// flags, because nobody should type it.
	if len(os.Args) == 3 && os.Args[1] == checkFlag {
		os.Exit(outbox.CheckMain(os.Args[2], func(s string) { fmt.Fprintln(os.Stderr, s) }))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vend-edge:", err)
		os.Exit(1)
	}
}

const checkFlag = "--check-outbox-file"

func run(ctx context.Context, args []string) error {
	var f flags
	parser, err := kong.New(&f, kong.Name("vend-edge"), kong.Description("The agent of one vending cabinet."),
		kong.Vars{"version": version()}, kong.UsageOnError())
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	tuneMemory()
	cfg, err := f.config()
	if err != nil {
		return err
	}
	a, err := agent.New(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(a.Run(ctx), a.Close())
}

func (f flags) config() (agent.Config, error) {
	password, err := f.password()
	if err != nil {
		return agent.Config{}, err
	}
	now, err := clock.System()
	if err != nil {
		return agent.Config{}, err
	}
	exe, err := os.Executable()
	if err != nil {
		return agent.Config{}, err
	}
	return agent.Config{
		Cabinet: f.Cabinet, Data: f.Data, Listen: f.Listen, ListenAnywhere: f.ListenAnywhere,
		MQTT: f.MQTT, MQTTUser: f.MQTTUser, MQTTPassword: password,
		MaxSize: int64(f.MaxSize), Window: f.Window, Timing: uplink.Timing{Beat: f.Beat}, Version: version(),
		Check: outbox.CheckInChild(exe, checkFlag), Now: now, Log: f.logger(),
	}, nil
}

func (f flags) password() (string, error) {
	if f.MQTTPasswordFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(f.MQTTPasswordFile)
	if err != nil {
		return "", fmt.Errorf("read --mqtt-password-file: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func (f flags) logger() *slog.Logger {
	if f.Log == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// tuneMemory trades a little CPU for a small heap, unless the operator has said
// otherwise: a cabinet's computer has 64 MB, and an agent that waits for months
// must not grow.
func tuneMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(16 << 20)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
