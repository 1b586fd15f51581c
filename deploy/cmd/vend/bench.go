package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"vendline/deploy/bench"
	"vendline/deploy/launch"
)

type benchCmd struct {
	Each   time.Duration `help:"Length of each measurement." default:"10s"`
	Rates  []float64     `help:"Open loop: orders a second offered, rising; stops when the mode is saturated." default:"500,1000,2000,4000,8000"`
	Modes  []string      `help:"Which modes." default:"sync,async"`
	Fleets []int         `help:"How many cabinets the load is spread over." default:"1,100"`
	NoEdge bool          `help:"Leave the agent's measurements out."`
	NoLife bool          `help:"Leave out what happens at the end of many orders."`
	JSON   string        `help:"Also write the report here." type:"path" placeholder:"FILE" default:"var/bench.json"`
}

func (c benchCmd) Run(ctx context.Context) error {
	bin, err := launch.BesideSelf()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vendline-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := bench.Run(ctx, bench.Config{
		Dir: dir, Binaries: bin, NoEdge: c.NoEdge, NoLife: c.NoLife, Each: c.Each, Rates: c.Rates, Modes: c.Modes, Fleets: c.Fleets, Out: os.Stderr,
	})
	if err != nil {
		return fmt.Errorf("%w (logs: %s/log)", err, dir)
	}
	r.Print(os.Stdout)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.JSON, append(text, '\n'), 0o644)
}
