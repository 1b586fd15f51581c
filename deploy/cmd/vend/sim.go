package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"vendline/cloud/model"
)

// simCmd plays the reference model of the stock rules.
type simCmd struct {
	Seeds int    `help:"How many histories." default:"10000"`
	From  uint64 `help:"First seed; with --seeds 1, replays one history." default:"0"`
	Steps int    `help:"Length of a history." default:"400"`
	Bug   string `help:"Leave a rule out, by number or by part of its name ('?' lists them): the histories must catch it."`
	JSON  bool   `help:"Print the result as JSON."`
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

func (c simCmd) Run(ctx context.Context) error {
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
		return fmt.Errorf("%d histories broke a promise; replay one with --seeds 1 --from SEED", r.Violated)
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
