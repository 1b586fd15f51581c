package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

type alertsCmd struct {
	URL  string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON bool   `help:"Print the service's answer as it is."`
	Who  string `help:"Whose doing the alerts' history says it is." default:"operator" env:"USER"`

	List   alertsList   `cmd:"" default:"1" help:"What needs somebody now, the worst first."`
	Snooze alertsSnooze `cmd:"" help:"Let an alert be silent for a while, with a reason. It still shows."`
	Wake   alertsWake   `cmd:"" help:"End a snooze before its time."`
	Test   alertsTest   `cmd:"" help:"Tell a sink something, to see that it works."`
}

type alertsList struct{}

// firing is an alert, as the service tells it.
type firing struct {
	Key      string `json:"key"`
	Severity string `json:"severity"`
	State    string `json:"state"`
	Since    int64  `json:"since"`
	Count    int64  `json:"count"`
	Summary  string `json:"summary"`
	Runbook  string `json:"runbook"`
	Snooze   *struct {
		Until  int64  `json:"until"`
		Reason string `json:"reason"`
		By     string `json:"by"`
	} `json:"snooze"`
}

func (alertsList) Run(ctx context.Context, all *alertsCmd) error {
	body, err := call(ctx, http.MethodGet, all.URL+"/v1/fleet/alerts", nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		At     int64    `json:"at"`
		Alerts []firing `json:"alerts"`
		Rules  []struct {
			Name    string `json:"name"`
			Unknown string `json:"unknown"`
		} `json:"rules"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	for _, r := range p.Rules {
		if r.Unknown != "" {
			fmt.Fprintf(os.Stderr, "%s is not known: %s\n", r.Name, r.Unknown)
		}
	}
	if len(p.Alerts) == 0 {
		fmt.Println("nothing needs anybody")
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEVERITY\tALERT\tSTATE\tSINCE\tSUMMARY")
	for _, a := range p.Alerts {
		state := a.State
		if a.Snooze != nil {
			state += ", snoozed for " + age(a.Snooze.Until-p.At) + " by " + a.Snooze.By + ": " + oneLine(a.Snooze.Reason, 40)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Severity, a.Key, state, age(p.At-a.Since), oneLine(a.Summary, 100))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, a := range p.Alerts {
		fmt.Printf("\n%s: %s\n", a.Key, a.Runbook)
	}
	return nil
}

type alertsSnooze struct {
	Key    string            `arg:"" optional:"" help:"The alert, as the list names it."`
	For    time.Duration     `required:"" help:"How long: from 1m to 720h (30 days)."`
	Reason string            `required:"" help:"Why it may be silent."`
	Rule   string            `help:"Instead of one alert: every alert of a rule …"`
	Label  map[string]string `help:"… with these labels: kind=stock."`
}

func (c alertsSnooze) Run(ctx context.Context, all *alertsCmd) error {
	if (c.Key == "") == (c.Rule == "") || c.Key != "" && len(c.Label) > 0 {
		return errors.New("name an alert, or --rule with or without --label")
	}
	what := map[string]any{"for": c.For.String(), "reason": c.Reason, "by": all.Who}
	path := "/v1/fleet/alerts/" + url.PathEscape(c.Key) + "/snooze"
	if c.Rule != "" {
		labels := []map[string]string{}
		for name, value := range c.Label {
			labels = append(labels, map[string]string{"name": name, "value": value})
		}
		path, what["rule"], what["labels"] = "/v1/fleet/snoozes", c.Rule, labels
	}
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	answer, err := call(ctx, http.MethodPost, all.URL+path, body)
	if err != nil || all.JSON {
		return show(answer, err)
	}
	fmt.Printf("%s is silent for %s\n", strings.TrimSpace(c.Key+c.Rule), c.For)
	return nil
}

type alertsWake struct {
	Key string `arg:"" help:"The alert, or a snooze's id."`
}

func (c alertsWake) Run(ctx context.Context, all *alertsCmd) error {
	answer, err := call(ctx, http.MethodDelete, all.URL+"/v1/fleet/alerts/"+url.PathEscape(c.Key)+"/snooze?by="+url.QueryEscape(all.Who), nil)
	if err != nil || all.JSON {
		return show(answer, err)
	}
	fmt.Println(c.Key + " is told again")
	return nil
}

type alertsTest struct {
	Sink string `required:"" help:"Its name in --alerts; log without one."`
}

func (c alertsTest) Run(ctx context.Context, all *alertsCmd) error {
	body, err := call(ctx, http.MethodPost, all.URL+"/v1/fleet/sinks/"+url.PathEscape(c.Sink)+"/test", nil)
	if err != nil {
		return err
	}
	var p struct {
		Told  bool   `json:"told"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if all.JSON {
		if err := show(body, nil); err != nil {
			return err
		}
	}
	if !p.Told {
		return fmt.Errorf("%s was not told: %s", c.Sink, p.Error)
	}
	if !all.JSON {
		fmt.Println(c.Sink + " was told")
	}
	return nil
}
