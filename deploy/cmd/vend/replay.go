package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"vendline/deploy/simulation"
)

// replayCmd tells the history of one seed.
type replayCmd struct {
	Seed  uint64 `help:"Which history." required:""`
	Steps int    `help:"Choices before the faults end." default:"260"`
	Bug   string `help:"Leave a rule out of the real code, by number or by part of its name ('?' lists them)."`
	JSON  bool   `help:"Print what it came to as JSON, and no steps."`
}

func (c replayCmd) Run() error {
	bug, err := plantedBug(c.Bug)
	if err != nil {
		return err
	}
	opt := simulation.Options{Steps: c.Steps, Bug: bug}
	if !c.JSON {
		fmt.Printf("%-12s %-5s %-30s %s\n", "time", "who", "what", "outcome")
		opt.Trace = func(line string) { fmt.Println(line) }
	}
	r, err := simulation.Run(c.Seed, opt)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Printf("\nseed %d, history %s: %d steps, %d orders, %d facts\n", r.Seed, r.Hash, r.Steps, r.Orders, r.Facts)
		for _, f := range simulation.Faults() {
			if r.Fired[f] > 0 {
				fmt.Printf("%6d times %s\n", r.Fired[f], f)
			}
		}
	}
	if len(r.Wrong) > 0 {
		return errors.New("this history broke a promise: " + r.Wrong[0])
	}
	return nil
}
