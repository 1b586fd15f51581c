package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"vendline/cloud/model"
	"vendline/deploy/simulation"
)

// simCmd plays random histories: of the real code, or of the reference model.
type simCmd struct {
	Seeds    int    `help:"How many histories. 0 means 1000, or 10000 of the model." default:"0"`
	From     uint64 `help:"First seed." default:"0"`
	Steps    int    `help:"Length of a history. 0 means 260, or 400 of the model." default:"0"`
	Bug      string `help:"Leave a rule out, by number or by part of its name ('?' lists them): the histories must catch it."`
	Model    bool   `help:"Play the reference model of the stock rules, not the real code."`
	Parallel int    `help:"Histories at once; 0 means one per core." default:"0"`
	JSON     bool   `help:"Print the result as JSON."`
}

// Run plays.
func (c simCmd) Run(ctx context.Context) error {
	if c.Model {
		if c.Seeds <= 0 {
			c.Seeds = 10_000
		}
		if c.Steps <= 0 {
			c.Steps = 400
		}
		return c.model(ctx)
	}
	if c.Seeds <= 0 {
		c.Seeds = 1000
	}
	return c.real(ctx)
}

// simReport is what many histories of the real code came to.
type simReport struct {
	Histories int                      `json:"histories"`
	Broken    int                      `json:"broken"`
	First     *simulation.Result       `json:"first,omitempty"` // of the broken ones, by seed
	Bug       simulation.Bug           `json:"planted_bug,omitempty"`
	Orders    int                      `json:"orders"`
	Facts     int                      `json:"facts"`
	Fired     map[simulation.Fault]int `json:"fired"`
}

// real plays the real code. It goes on after a broken history, so that the first
// seed it names is the first one, however many play at once.
func (c simCmd) real(ctx context.Context) error {
	bug, err := plantedBug(c.Bug)
	if err != nil {
		return err
	}
	rep := simReport{Bug: bug, Fired: map[simulation.Fault]int{}}
	if c.Parallel <= 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	var next atomic.Uint64
	var mu sync.Mutex
	var workers sync.WaitGroup
	var failed error
	for range c.Parallel {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < uint64(c.Seeds) && ctx.Err() == nil; i = next.Add(1) - 1 {
				r, err := simulation.Run(c.From+i, simulation.Options{Steps: c.Steps, Bug: bug})
				mu.Lock()
				failed = errors.Join(failed, err)
				rep.add(r)
				stop := failed != nil || bug != "" && rep.Broken > 0
				if !c.JSON {
					fmt.Fprintf(os.Stderr, "\r%d of %d histories, %d broken", rep.Histories, c.Seeds, rep.Broken)
				}
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	workers.Wait()
	if failed != nil {
		return failed
	}
	return c.tell(ctx, rep)
}

func (rep *simReport) add(r simulation.Result) {
	rep.Histories++
	rep.Orders, rep.Facts = rep.Orders+r.Orders, rep.Facts+r.Facts
	for f, n := range r.Fired {
		rep.Fired[f] += n
	}
	if len(r.Wrong) > 0 {
		if rep.Broken++; rep.First == nil || r.Seed < rep.First.Seed {
			rep.First = &r
		}
	}
}

func (c simCmd) tell(ctx context.Context, rep simReport) error {
	if c.JSON {
		if err := json.NewEncoder(os.Stdout).Encode(rep); err != nil {
			return err
		}
	} else {
		fmt.Fprint(os.Stderr, "\r")
		fmt.Printf("%d histories of the real code, %d orders, %d facts, %d broken\n", rep.Histories, rep.Orders, rep.Facts, rep.Broken)
		for _, f := range simulation.Faults() {
			fmt.Printf("%8d times %s\n", rep.Fired[f], f)
		}
		if rep.First != nil {
			fmt.Printf("first broken: seed %d\n", rep.First.Seed)
			for _, w := range rep.First.Wrong {
				fmt.Println(" ", w)
			}
		}
	}
	switch {
	case rep.Bug == "" && rep.Broken > 0:
		again := fmt.Sprintf("vend replay --seed %d", rep.First.Seed)
		if c.Steps > 0 {
			again += fmt.Sprintf(" --steps %d", c.Steps)
		}
		return fmt.Errorf("%d histories broke a promise; see the first: %s", rep.Broken, again)
	case rep.Bug != "" && rep.Broken == 0 && ctx.Err() == nil:
		return fmt.Errorf("the planted bug went unnoticed in %d histories", rep.Histories)
	}
	return nil
}

// plantedBug finds a rule that can be left out of the real code.
func plantedBug(name string) (simulation.Bug, error) {
	if name == "" {
		return "", nil
	}
	var list strings.Builder
	for i, b := range simulation.Bugs() {
		if name == fmt.Sprint(i+1) || strings.Contains(string(b), name) {
			return b, nil
		}
		fmt.Fprintf(&list, "\n  %2d  %s", i+1, b)
	}
	return "", fmt.Errorf("the rules that can be left out:%s", list.String())
}

type simResult struct {
	Histories int      `json:"histories"`
	Violated  int      `json:"violated"`
	First     []string `json:"first_violations,omitempty"`
	Caught    int      `json:"losses_caught_by_ticket"`
	Shortages int      `json:"holds_lost"`
	Repairs   int      `json:"repairs"`
	Bug       string   `json:"planted_bug,omitempty"`
}

// model plays the reference model.
func (c simCmd) model(ctx context.Context) error {
	bug, err := c.bug()
	if err != nil {
		return err
	}
	r := simResult{Bug: string(bug)}
	for i := range c.Seeds {
		if ctx.Err() != nil {
			break
		}
		s, err := model.Run(c.From+uint64(i), c.Steps, bug)
		r.Histories++
		r.Caught, r.Shortages, r.Repairs = r.Caught+s.Caught, r.Shortages+s.Shortages, r.Repairs+s.Repairs
		if err != nil {
			if r.Violated++; len(r.First) < 3 {
				r.First = append(r.First, err.Error())
			}
		}
		if !c.JSON && i%500 == 499 {
			fmt.Fprintf(os.Stderr, "\r%d of %d histories", i+1, c.Seeds)
		}
	}
	if c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		fmt.Fprintf(os.Stderr, "\r")
		fmt.Printf("%d histories, %d violated, %d losses of Redis caught by a ticket, %d holds lost, %d repairs\n", r.Histories, r.Violated, r.Caught, r.Shortages, r.Repairs)
		for _, v := range r.First {
			fmt.Println(" ", v)
		}
	}
	switch {
	case err != nil:
		return err
	case bug == "" && r.Violated > 0:
		return fmt.Errorf("%d histories broke a promise; play one again with --model --seeds 1 --from SEED", r.Violated)
	case bug != "" && r.Violated == 0 && ctx.Err() == nil:
		return fmt.Errorf("the planted bug went unnoticed in %d histories", r.Histories)
	}
	return nil
}

func (c simCmd) bug() (model.Bug, error) {
	if c.Bug == "" {
		return "", nil
	}
	var list strings.Builder
	for i, b := range model.Bugs {
		if c.Bug == fmt.Sprint(i+1) || strings.Contains(string(b), c.Bug) {
			return b, nil
		}
		fmt.Fprintf(&list, "\n  %2d  %s", i+1, b)
	}
	return "", fmt.Errorf("the rules that can be left out:%s", list.String())
}
