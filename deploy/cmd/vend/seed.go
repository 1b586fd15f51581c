package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/deploy/demo"
	"vendline/shared/wire"
)

type seedCmd struct {
	Ledger   string   `help:"mysql:<dsn> or sqlite:<path>." required:"" env:"VENDLINE_LEDGER"`
	Cabinets []string `arg:"" help:"Cabinet ids, e.g. C001 C002."`
	Group    string   `help:"Group that the cabinets are warmed up with; see warmup --group."`
	Units    int64    `help:"Opening stock of each product." default:"50"`
}

func (c seedCmd) Run(ctx context.Context) error {
	kind, dsn, _ := strings.Cut(c.Ledger, ":")
	dialect := ledger.MySQL()
	if kind == "sqlite" {
		dialect = ledger.SQLite()
	} else if kind != "mysql" {
		return fmt.Errorf("%q is neither mysql:<dsn> nor sqlite:<path>", c.Ledger)
	}
	for _, id := range c.Cabinets {
		if !wire.ValidCabinet(id) {
			return fmt.Errorf("%q cannot be a cabinet: 1 to 32 letters, digits, '_' or '-'", id)
		}
	}
	if c.Group != "" && !wire.ValidCabinet(c.Group) {
		return fmt.Errorf("%q cannot be a group: 1 to 32 letters, digits, '_' or '-'", c.Group)
	}
	return seed(ctx, dialect, dsn, c.Cabinets, c.Units, c.Group)
}

// seed leaves what exists alone, so that it can be run again.
func seed(ctx context.Context, d ledger.Dialect, dsn string, cabinets []string, units int64, group string) error {
	l, err := ledger.Open(ctx, d, dsn, ledger.Options{Clock: time.Now, ID: app.NewID, Token: app.NewToken})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.AddProducts(ctx, demo.Products()...); err != nil {
		return err
	}
	opening := map[string]int64{}
	for _, p := range demo.Products() {
		opening[p.SKU] = units
	}
	for _, id := range cabinets {
		if err := l.AddCabinet(ctx, id, opening); err != nil {
			return err
		}
		if group != "" {
			if err := l.SetGroup(ctx, id, group); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d products, %d cabinets\n", len(opening), len(cabinets))
	return nil
}
