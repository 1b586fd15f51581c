package main

import (
	"context"
	"fmt"
	"os"

	"vendline/cloud/ledger"
	"vendline/deploy/launch"
	"vendline/deploy/stack"
	"vendline/deploy/stack/stackcmd"
)

// upCmd is the stack with Vendline on it.
type upCmd struct {
	stackcmd.Up
	HTTP string `help:"Where vend-cloud listens." default:"127.0.0.1:18080"`
}

// demoCabinets are the two that `up` starts agents for.
var demoCabinets = []string{"C001", "C002"}

func (c upCmd) Run(ctx context.Context) error {
	bin, err := launch.BesideSelf()
	if err != nil {
		return err
	}
	c.Cabinets = append(demoCabinets, c.Cabinets...)
	c.After = func(ctx context.Context, s *stack.Stack) error {
		d, err := s.Description()
		if err != nil {
			return err
		}
		if err := seed(ctx, ledger.MySQL(), d.MySQLDSN, demoCabinets, 50, ""); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
		if _, err := launch.Cloud(ctx, s, bin, launch.CloudOptions{Name: "vend-cloud", HTTP: c.HTTP}); err != nil {
			return fmt.Errorf("start vend-cloud: %w", err)
		}
		for i, id := range demoCabinets {
			if _, err := launch.Agent(ctx, s, bin, launch.AgentOptions{Cabinet: id, Listen: fmt.Sprintf("127.0.0.1:%d", 17001+i)}); err != nil {
				return fmt.Errorf("start the agent of %s: %w", id, err)
			}
		}
		fmt.Fprintf(os.Stderr, "page: http://%s/   agents: http://127.0.0.1:17001 (C001), http://127.0.0.1:17002 (C002)\n", c.HTTP)
		return nil
	}
	return c.Up.Run(ctx)
}
