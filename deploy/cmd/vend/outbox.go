package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"text/tabwriter"
)

type outboxCmd struct {
	URL   string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON  bool   `help:"Print the service's answer as it is."`
	Stuck bool   `help:"List the rows that were tried again and again, with payload and last error."`
}

func (c outboxCmd) Run(ctx context.Context) error {
	body, err := call(ctx, http.MethodGet, c.URL+"/v1/fleet/outbox?limit=500", nil)
	if err != nil || c.JSON {
		return show(body, err)
	}
	var p struct {
		At    int64 `json:"at"`
		Kinds []struct {
			Kind, End    string
			Depth, Stuck int64
			Attempts     int
			Oldest       int64 `json:"oldest_ms"`
		}
		Stuck []struct {
			ID, Kind  string
			Attempts  int
			Created   int64
			Due       int64
			LastError string `json:"last_error"`
			Text      *string
			Base64    string
		}
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if !c.Stuck {
		fmt.Fprintln(w, "KIND\tDEPTH\tOLDEST\tSTUCK\tGIVEN UP AFTER\tWHAT COMES OF IT")
		for _, k := range p.Kinds {
			after := "never"
			if k.Attempts > 0 {
				after = fmt.Sprintf("%d attempts", k.Attempts)
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\n", k.Kind, k.Depth, age(k.Oldest), k.Stuck, after, k.End)
		}
		return w.Flush()
	}
	if len(p.Stuck) == 0 {
		fmt.Println("no row is stuck")
		return nil
	}
	for _, r := range p.Stuck {
		payload := r.Base64
		if r.Text != nil {
			payload = *r.Text
		}
		fmt.Fprintf(w, "%s\t%s\t%d attempts\t%s old\tagain in %s\n", r.ID, r.Kind, r.Attempts, age(p.At-r.Created), age(max(0, r.Due-p.At)))
		fmt.Fprintf(w, "\tlast error\t%s\n\tpayload\t%s\n", oneLine(r.LastError, 200), oneLine(payload, 200))
	}
	return w.Flush()
}
