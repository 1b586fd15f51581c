package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"vendline/deploy/stack/stackcmd"
)

type reconcileCmd struct {
	URL      string   `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	All      bool     `help:"Every cabinet."`
	DryRun   bool     `help:"Compare and change nothing; ends with 1 if anything differs."`
	Audit    bool     `help:"Audit the ledger's own books instead: stock, orders, money, days. Each difference opens a case; ends with 1 if there is any."`
	JSON     bool     `help:"Print what each cabinet's comparison found as JSON lines, and the report last."`
	Cabinets []string `arg:"" optional:"" help:"Cabinet ids."`
}

// compared is one line of the service's answer.
type compared struct {
	Cabinet string `json:"cabinet"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Error   string `json:"error"`
	Finding *struct {
		ID    string `json:"id"`
		State string `json:"state"`
		Lines []struct {
			SKU      string `json:"sku"`
			Expected int64  `json:"expected"`
			Found    int64  `json:"found"`
		} `json:"lines"`
	} `json:"finding"`
	Report *struct {
		Equal, Stale, Failed, Frozen, Findings, Repaired int
		NotLoaded                                        int   `json:"not_loaded"`
		TookMS                                           int64 `json:"took_ms"`
	} `json:"report"`
}

func (c reconcileCmd) Run(ctx context.Context) error {
	if c.Audit {
		if c.All || c.DryRun || len(c.Cabinets) > 0 {
			return errors.New("--audit is of all books, and changes none: it goes with --json only")
		}
		return c.audit(ctx)
	}
	if c.All == (len(c.Cabinets) > 0) {
		return errors.New("name cabinets, or --all, or --audit")
	}
	want := map[string]any{"dry_run": c.DryRun}
	if c.All {
		want["all"] = true
	} else {
		want["cabinets"] = c.Cabinets
	}
	body, err := json.Marshal(want)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/fleet/reconcile", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("vend-cloud does not answer at %s: %w", c.URL, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return c.follow(resp.Body)
}

func (c reconcileCmd) follow(r io.Reader) error {
	var last compared
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if c.JSON {
			fmt.Println(s.Text())
		}
		last = compared{}
		if err := json.Unmarshal(s.Bytes(), &last); err != nil {
			return fmt.Errorf("progress: %w", err)
		}
		c.tell(last)
	}
	if err := s.Err(); err != nil {
		return err
	}
	rep := last.Report
	switch {
	case rep == nil:
		return errors.New("the service's answer ended early; ask again")
	case last.Error != "":
		return errors.New(last.Error)
	}
	if !c.JSON {
		fmt.Printf("%d cabinets in %d ms: %d equal, %d not loaded, %d being rebuilt, %d failed; %d differ, %d repaired\n",
			last.Total, rep.TookMS, rep.Equal, rep.NotLoaded, rep.Stale, rep.Failed, rep.Findings, rep.Repaired)
	}
	if rep.Failed > 0 || c.DryRun && rep.Findings > 0 {
		return stackcmd.ExitError{Code: 1}
	}
	return nil
}

func (c reconcileCmd) tell(p compared) {
	if c.JSON {
		return
	}
	if p.Error != "" && p.Cabinet != "" {
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.Cabinet, p.Error)
	}
	if p.Finding == nil {
		return
	}
	var lines []string
	for _, l := range p.Finding.Lines {
		lines = append(lines, fmt.Sprintf("%s: Redis has %d, the ledger says %d", l.SKU, l.Found, l.Expected))
	}
	fmt.Printf("%s: %s (%s)\n", p.Cabinet, strings.Join(lines, "; "), strings.ReplaceAll(p.Finding.State, "_", " "))
}
