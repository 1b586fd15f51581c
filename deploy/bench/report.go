// Package bench measures Vendline on this machine: the synchronous mode beside
// the asynchronous one, in one run, on the real servers, with all of it and the
// load on the same cores. Every number in the README came from here.
package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	edge "vendline/edge/bench"
)

// Report is one run.
type Report struct {
	At        time.Time    `json:"at"`
	Machine   Machine      `json:"machine"`
	Scenarios []Scenario   `json:"scenarios"`
	Expiry    *Expiry      `json:"expiry,omitempty"`
	Reconcile *Reconcile   `json:"reconcile,omitempty"`
	Callbacks *Callbacks   `json:"callbacks,omitempty"`
	Edge      *edge.Result `json:"edge,omitempty"`
}

// Machine is where it ran.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	MemGB   int    `json:"mem_gb"`
	OS      string `json:"os"`
	Go      string `json:"go"`
	MariaDB string `json:"mariadb"`
	Redis   string `json:"redis"`
}

// Scenario is one mode with so many cabinets.
type Scenario struct {
	Mode     string  `json:"mode"` // sync or async
	Cabinets int     `json:"cabinets"`
	Closed   Load    `json:"closed"`
	Open     []Load  `json:"open"`
	Server   Servers `json:"server"` // during the closed loop

	Durable int64 `json:"durable"` // orders in MySQL at the end; equals all accepted
}

// Servers is what the servers themselves counted during the closed loop.
type Servers struct {
	OrderCommitsPerOrder    float64            `json:"order_commits_per_order"`
	StockStatementsPerOrder float64            `json:"stock_statements_per_order"`
	LockWaits               int64              `json:"lock_waits"`
	Deadlocks               int64              `json:"deadlocks"`
	CPUSeconds              map[string]float64 `json:"cpu_seconds"`  // by process
	LagPeakMS               int64              `json:"lag_peak_ms"`  // age of the oldest statement not applied yet
	LagDrainMS              int64              `json:"lag_drain_ms"` // from the end of the load until lag is under 2 s; async
	DrainedMS               int64              `json:"drained_ms"`   // … until nothing waits any more
}

// Print writes the report as tables for people.
func (r Report) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %d cores, %d GB, %s, %s; %s; Redis %s; %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.MemGB,
		r.Machine.OS, r.Machine.Go, r.Machine.MariaDB, r.Machine.Redis, r.At.Format("2006-01-02"))
	fmt.Fprintf(w, "Servers, service and load share these cores. Accepted = durable before the reply.\n\n")
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "closed loop, 128 connections\torders/s\tp50 ms\tp95 ms\tp99 ms\terrors\tcommits/order\tstock stmts/order\tlock waits\tdeadlocks\tlag peak ms\tdrained ms")
	for _, s := range r.Scenarios {
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%d\t%.3f\t%.3f\t%d\t%d\t%d\t%d\n", s.title(), s.Closed.AcceptedPerSecond, s.Closed.P50ms, s.Closed.P95ms, s.Closed.P99ms,
			s.Closed.Errors, s.Server.OrderCommitsPerOrder, s.Server.StockStatementsPerOrder, s.Server.LockWaits, s.Server.Deadlocks, s.Server.LagPeakMS, s.Server.DrainedMS)
	}
	t.Flush()
	r.printRatios(w)
	fmt.Fprintln(w)
	fmt.Fprintln(t, "open loop\toffered/s\taccepted/s\tp50 ms\tp95 ms\tp99 ms\terrors")
	for _, s := range r.Scenarios {
		for _, o := range s.Open {
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%d\n", s.title(), o.OfferedPerSecond, o.AcceptedPerSecond, o.P50ms, o.P95ms, o.P99ms, o.Errors)
		}
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "CPU seconds per 1,000 orders\t"+strings.Join(processes, "\t"))
	for _, s := range r.Scenarios {
		fmt.Fprintf(t, "%s", s.title())
		for _, p := range processes {
			fmt.Fprintf(t, "\t%.3f", s.Server.CPUSeconds[p]/float64(max(1, s.Closed.Accepted))*1000)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	if r.Expiry != nil {
		fmt.Fprintf(w, "\n%s\n", r.Expiry)
	}
	if r.Reconcile != nil {
		fmt.Fprintf(w, "\n%s\n", r.Reconcile)
	}
	if r.Callbacks != nil {
		fmt.Fprintf(w, "\n%s\n", r.Callbacks)
	}
	if r.Edge != nil {
		fmt.Fprintln(w)
		printEdge(w, *r.Edge)
	}
}

func (s Scenario) title() string {
	if s.Cabinets == 1 {
		return s.Mode + ", one hot cabinet"
	}
	return fmt.Sprintf("%s, %d cabinets", s.Mode, s.Cabinets)
}

func (r Report) printRatios(w io.Writer) {
	by := map[string]Scenario{}
	for _, s := range r.Scenarios {
		by[fmt.Sprint(s.Mode, s.Cabinets)] = s
	}
	for _, s := range r.Scenarios {
		base, ok := by[fmt.Sprint("sync", s.Cabinets)]
		if s.Mode == "async" && ok && base.Closed.AcceptedPerSecond > 0 {
			fmt.Fprintf(w, "%s: %.1f× sync\n", s.title(), s.Closed.AcceptedPerSecond/base.Closed.AcceptedPerSecond)
		}
	}
}
