package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

type lettersCmd struct {
	URL  string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON bool   `help:"Print the service's answer as it is."`
	Who  string `help:"Whose doing the letters' history says it is." default:"operator" env:"USER"`

	List    lettersList    `cmd:"" default:"withargs" help:"What waits, the last buried first."`
	Show    lettersShow    `cmd:"" help:"One letter in full, with its history."`
	Redrive lettersRedrive `cmd:"" help:"Send letters back the way they came."`
	Discard lettersDiscard `cmd:"" help:"Give letters up, with a note. They stay to be read, and can be redriven by id."`
}

// found says which letters.
type found struct {
	Source  string `help:"Only from here: stock, queue, %DLQ%, mqtt, callback, …"`
	Cabinet string `help:"Only of this cabinet."`
	Search  string `short:"q" help:"Only with this id, or with this in reason, errors or payload."`
}

type lettersList struct {
	found
	State string `help:"open, redriven, discarded or all." default:"open" enum:"open,redriven,discarded,all"`
	Limit int    `help:"Most letters." default:"50"`
	After string `help:"Go on where the last list ended."`
}

// dead is a letter, as the service tells it.
type dead struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	State      string            `json:"state"`
	Cabinet    string            `json:"cabinet"`
	Subject    string            `json:"subject"`
	Reason     string            `json:"reason"`
	FirstError string            `json:"first_error"`
	LastError  string            `json:"last_error"`
	Attempts   int               `json:"attempts"`
	Created    int64             `json:"created"`
	Buried     int64             `json:"buried"`
	Meta       map[string]string `json:"meta"`
	Bytes      int               `json:"bytes"`
	Text       *string           `json:"text"`
	Base64     string            `json:"base64"`
}

func (c lettersList) Run(ctx context.Context, all *lettersCmd) error {
	q := url.Values{"state": {c.State}, "limit": {strconv.Itoa(c.Limit)}}
	for name, v := range map[string]string{"source": c.Source, "cabinet": c.Cabinet, "q": c.Search, "after": c.After} {
		if v != "" {
			q.Set(name, v)
		}
	}
	body, err := call(ctx, http.MethodGet, all.URL+"/v1/fleet/dead-letters?"+q.Encode(), nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		At      int64  `json:"at"`
		Total   int64  `json:"total"`
		Next    string `json:"next"`
		Letters []dead `json:"dead_letters"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if p.Total == 0 {
		fmt.Println("no letters")
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSOURCE\tSTATE\tCABINET\tATTEMPTS\tBURIED\tREASON")
	for _, l := range p.Letters {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s ago\t%s\n", l.ID, l.Source, l.State, l.Cabinet, l.Attempts, age(p.At-l.Buried), oneLine(l.Reason, 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.Next != "" {
		fmt.Printf("%d of %d; more with --after %s\n", len(p.Letters), p.Total, p.Next)
	}
	return nil
}

func age(ms int64) string { return (time.Duration(ms) * time.Millisecond).Round(time.Second).String() }

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

type lettersShow struct {
	ID string `arg:"" help:"The letter's id."`
}

func (c lettersShow) Run(ctx context.Context, all *lettersCmd) error {
	body, err := call(ctx, http.MethodGet, all.URL+"/v1/fleet/dead-letters/"+url.PathEscape(c.ID), nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		Letter  dead `json:"dead_letter"`
		History []struct {
			At              int64
			Who, What, Note string
		}
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	l := p.Letter
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{{"id", l.ID}, {"source", l.Source}, {"state", l.State}, {"cabinet", l.Cabinet}, {"about", l.Subject}, {"attempts", strconv.Itoa(l.Attempts)},
		{"reason", l.Reason}, {"first error", l.FirstError}, {"last error", l.LastError}, {"came about", stamp(l.Created)}, {"buried", stamp(l.Buried)}} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	for _, h := range p.History {
		fmt.Fprintf(w, "history\t%s  %s by %s: %s\n", stamp(h.At), h.What, h.Who, h.Note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	kind, payload := "text", l.Base64
	if l.Text == nil {
		kind = "base64"
	} else {
		payload = *l.Text
	}
	fmt.Printf("\npayload, %d bytes, %s:\n%s\n", l.Bytes, kind, payload)
	return nil
}

func stamp(ms int64) string { return time.UnixMilli(ms).Format(time.DateTime) }

// chosen says which letters something is done with.
type chosen struct {
	found
	IDs    []string `arg:"" optional:"" help:"Letters by id."`
	All    bool     `help:"All open ones; all that --source, --cabinet and --search find."`
	DryRun bool     `help:"Say what would be done, and do nothing."`
}

type lettersRedrive struct{ chosen }

func (c lettersRedrive) Run(ctx context.Context, all *lettersCmd) error {
	return c.do(ctx, all, "redrive", "")
}

type lettersDiscard struct {
	chosen
	Note string `help:"Why." required:""`
}

func (c lettersDiscard) Run(ctx context.Context, all *lettersCmd) error {
	return c.do(ctx, all, "discard", c.Note)
}

// do goes on until the service says that nothing is left.
func (c chosen) do(ctx context.Context, all *lettersCmd, what, note string) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("name letters by id, or --all (with --source, --cabinet or --search: all of those)")
	}
	want := map[string]any{"dry_run": c.DryRun, "who": all.Who}
	for name, v := range map[string]string{"source": c.Source, "cabinet": c.Cabinet, "q": c.Search, "note": note} {
		if v != "" {
			want[name] = v
		}
	}
	if c.All {
		want["all"] = true
	} else {
		want["ids"] = c.IDs
	}
	done, refused := 0, 0
	for {
		raw, err := json.Marshal(want)
		if err != nil {
			return err
		}
		body, err := call(ctx, http.MethodPost, all.URL+"/v1/fleet/dead-letters/"+what, raw)
		if err != nil {
			return err
		}
		var p struct {
			Done     int `json:"done"`
			Refused  int `json:"refused"`
			Next     string
			Outcomes []struct{ ID, Source, Action, Refused string }
		}
		if err := json.Unmarshal(body, &p); err != nil {
			return fmt.Errorf("the service's answer: %w", err)
		}
		done, refused = done+p.Done, refused+p.Refused
		if all.JSON {
			fmt.Println(strings.TrimSpace(string(body)))
		} else {
			for _, o := range p.Outcomes {
				if o.Refused != "" {
					fmt.Printf("%s  %s: refused: %s\n", o.ID, o.Source, o.Refused)
				} else {
					fmt.Printf("%s  %s: %s\n", o.ID, o.Source, o.Action)
				}
			}
		}
		if p.Next == "" {
			break
		}
		want["after"] = p.Next
	}
	if !all.JSON {
		verb := map[string]string{"redrive": "redriven", "discard": "discarded"}[what]
		if c.DryRun {
			verb = "could be " + verb
		}
		fmt.Printf("%d %s, %d refused\n", done, verb, refused)
	}
	if refused > 0 && !c.All {
		return fmt.Errorf("%d of %d letters were refused", refused, done+refused)
	}
	return nil
}
