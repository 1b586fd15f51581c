package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"text/tabwriter"
)

type casesCmd struct {
	URL  string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON bool   `help:"Print the service's answer as it is."`

	List  casesList  `cmd:"" default:"withargs" help:"What waits for a person, the newest first."`
	Close casesClose `cmd:"" help:"Say what came of a case."`
}

type casesList struct {
	Closed bool `help:"Those that were closed, instead of open ones."`
	Limit  int  `help:"Most cases." default:"100"`
}

func (c casesList) Run(ctx context.Context, all *casesCmd) error {
	q := url.Values{"closed": {strconv.FormatBool(c.Closed)}, "limit": {strconv.Itoa(c.Limit)}}
	body, err := call(ctx, http.MethodGet, all.URL+"/v1/fleet/cases?"+q.Encode(), nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		At    int64 `json:"at"`
		Open  int64 `json:"open"`
		Cases []struct {
			ID      string `json:"id"`
			Kind    string `json:"kind"`
			Order   string `json:"order"`
			Cabinet string `json:"cabinet"`
			Detail  string `json:"detail"`
			Created int64  `json:"created"`
			Note    string `json:"note"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if len(p.Cases) == 0 {
		fmt.Printf("no such cases; %d open\n", p.Open)
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tCABINET\tORDER\tSINCE\tDETAIL\tNOTE")
	for _, k := range p.Cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s ago\t%s\t%s\n", k.ID, k.Kind, k.Cabinet, k.Order, age(p.At-k.Created), oneLine(k.Detail, 100), oneLine(k.Note, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !c.Closed && int64(len(p.Cases)) < p.Open {
		fmt.Printf("%d of %d; more with --limit\n", len(p.Cases), p.Open)
	}
	return nil
}

type casesClose struct {
	ID   string `arg:"" help:"The case's id."`
	Note string `help:"What came of it." required:""`
}

func (c casesClose) Run(ctx context.Context, all *casesCmd) error {
	b, err := json.Marshal(map[string]string{"note": c.Note})
	if err != nil {
		return err
	}
	body, err := call(ctx, http.MethodPost, all.URL+"/v1/fleet/cases/"+url.PathEscape(c.ID)+"/close", b)
	if err != nil || all.JSON {
		return show(body, err)
	}
	fmt.Println("closed", c.ID)
	return nil
}
