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
)

type warmupCmd struct {
	URL      string   `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	All      bool     `help:"Every cabinet."`
	Group    string   `help:"The cabinets of a group."`
	JSON     bool     `help:"Print progress as JSON lines."`
	Cabinets []string `arg:"" optional:"" help:"Cabinet ids."`
}

// progress is one line of the service's answer.
type progress struct {
	Cabinet string `json:"cabinet"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Error   string `json:"error,omitempty"`
}

func (c warmupCmd) Run(ctx context.Context) error {
	var want any
	switch named := len(c.Cabinets) > 0; {
	case named && !c.All && c.Group == "":
		want = map[string]any{"cabinets": c.Cabinets}
	case c.All && !named && c.Group == "":
		want = map[string]any{"all": true}
	case c.Group != "" && !named && !c.All:
		want = map[string]any{"group": c.Group}
	default:
		return errors.New("name cabinets, or --group, or --all")
	}
	body, err := json.Marshal(want)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/fleet/warmup", bytes.NewReader(body))
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

func (c warmupCmd) follow(r io.Reader) error {
	failed := 0
	s := bufio.NewScanner(r)
	for s.Scan() {
		if c.JSON {
			fmt.Println(s.Text())
		}
		var p progress
		if err := json.Unmarshal(s.Bytes(), &p); err != nil {
			return fmt.Errorf("progress: %w", err)
		}
		if p.Error != "" {
			failed++
			fmt.Fprintf(os.Stderr, "%s: %s\n", p.Cabinet, p.Error)
		}
		if !c.JSON {
			fmt.Printf("\r%d of %d cabinets loaded", p.Done, p.Total)
		}
	}
	if !c.JSON {
		fmt.Println()
	}
	if failed > 0 {
		return fmt.Errorf("%d cabinets could not be loaded", failed)
	}
	return s.Err()
}
