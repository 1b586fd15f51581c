package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"vendline/cloud/app"
	"vendline/deploy/demo"
)

type demoCmd struct {
	Dir      string        `help:"Where state lives; it survives kill -9." default:"var/demo" type:"path"`
	HTTP     string        `help:"Where the page listens; a busy port falls back to a free one." default:"127.0.0.1:8080"`
	Cabinets int           `help:"How many cabinets." default:"10"`
	Hold     time.Duration `help:"How long an unpaid order keeps its stock." default:"45s"`
	Quiet    bool          `help:"No shoppers: you are the only one."`
	Verbose  bool          `short:"v" help:"Log what happens inside."`
}

func (c demoCmd) Run(ctx context.Context) error {
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelDebug
	}
	d, err := demo.Start(ctx, demo.Config{
		Dir: c.Dir, HTTP: c.HTTP, Cabinets: c.Cabinets, Hold: c.Hold, Quiet: c.Quiet, Out: os.Stdout,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), Deps: deps(level),
	})
	if err != nil {
		return err
	}
	defer d.Close()
	d.Greet()
	<-ctx.Done()
	fmt.Println("\nstopping: letting agents and service finish what is under way …")
	return nil
}

func deps(level slog.Level) app.Deps {
	return app.System(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}
