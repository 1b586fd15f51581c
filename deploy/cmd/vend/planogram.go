package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"vendline/shared/wire"
)

type planogramCmd struct {
	URL  string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON bool   `help:"Print the service's answer as it is."`

	Get     planogramGet     `cmd:"" help:"What a cabinet is to hold in which slot, and at which price."`
	Set     planogramSet     `cmd:"" help:"Set it, from a file or standard input: {\"slots\":[{\"slot\":\"A1\",\"sku\":\"cola\",\"capacity\":9,\"price\":350,\"currency\":\"CNY\"}]}."`
	Unacked planogramUnacked `cmd:"" help:"Cabinets that do not work by their newest planogram yet."`
}

// planogramFile is what get prints with --json and set reads: what was read is
// the base of what is set.
type planogramFile struct {
	Version int64       `json:"version,omitempty"`
	Base    *int64      `json:"base,omitempty"`
	Slots   []wire.Slot `json:"slots"`
}

type planogramGet struct {
	Cabinet string `arg:"" help:"Cabinet id."`
}

func (c planogramGet) Run(ctx context.Context, all *planogramCmd) error {
	body, err := call(ctx, http.MethodGet, all.URL+"/v1/fleet/cabinets/"+url.PathEscape(c.Cabinet)+"/planogram", nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		planogramFile
		Acked int64 `json:"acked"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if p.Version == 0 {
		fmt.Printf("%s has no planogram: it sells all that it stocks, at the chain's prices\n", c.Cabinet)
		return nil
	}
	state := "the cabinet works by it"
	if p.Acked < p.Version {
		state = fmt.Sprintf("the cabinet works by version %d", p.Acked)
		if p.Acked == 0 {
			state = "the cabinet has not taken it"
		}
	}
	fmt.Printf("%s, version %d: %s\n", c.Cabinet, p.Version, state)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SLOT\tSKU\tCAPACITY\tPRICE")
	for _, s := range p.Slots {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d %s\n", s.Slot, s.SKU, s.Capacity, s.Price, s.Currency)
	}
	return w.Flush()
}

type planogramSet struct {
	Cabinet string `arg:"" help:"Cabinet id."`
	File    string `arg:"" optional:"" default:"-" help:"JSON file; - is standard input."`
	Base    *int64 `help:"Refuse if this is not the newest version any more. A file that 'get --json' wrote says it itself."`
}

func (c planogramSet) Run(ctx context.Context, all *planogramCmd) error {
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	var p planogramFile
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.Base != nil {
		p.Base = c.Base
	} else if read := p.Version; p.Base == nil && read > 0 {
		p.Base = &read
	}
	p.Version = 0 // the service gives the next one
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	body, err = call(ctx, http.MethodPut, all.URL+"/v1/fleet/cabinets/"+url.PathEscape(c.Cabinet)+"/planogram", body)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var made struct {
		Version int64 `json:"version"`
		Made    bool  `json:"made"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if made.Made {
		fmt.Printf("%s: version %d is in force; the cabinet is being told\n", c.Cabinet, made.Version)
	} else {
		fmt.Printf("%s: version %d says the same already\n", c.Cabinet, made.Version)
	}
	return nil
}

type planogramUnacked struct {
	Limit int `help:"Most cabinets to list." default:"100"`
}

func (c planogramUnacked) Run(ctx context.Context, all *planogramCmd) error {
	body, err := call(ctx, http.MethodGet, fmt.Sprintf("%s/v1/fleet/planograms?unacked=true&limit=%d", all.URL, c.Limit), nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		At         int64 `json:"at"`
		Total      int64 `json:"total"`
		Planograms []struct {
			Cabinet string `json:"cabinet"`
			Version int64  `json:"version"`
			Since   int64  `json:"since"`
			Acked   int64  `json:"acked"`
		} `json:"planograms"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CABINET\tVERSION\tWORKS BY\tWAITS")
	for _, u := range p.Planograms {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", u.Cabinet, u.Version, u.Acked, (time.Duration(p.At-u.Since) * time.Millisecond).Round(time.Second))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := p.Total - int64(len(p.Planograms)); n > 0 {
		fmt.Printf("and %d more\n", n)
	}
	return nil
}

func show(body []byte, err error) error {
	if err == nil {
		_, err = os.Stdout.Write(body)
	}
	return err
}

// call sends JSON and returns the answer's body; a refusal is an error in the
// service's words.
func call(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("vend-cloud does not answer at %s: %w", address, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var no struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		}
		if json.Unmarshal(answer, &no) == nil && no.Code != "" {
			return nil, fmt.Errorf("%s: %s", no.Code, no.Detail)
		}
		return nil, fmt.Errorf("%s: %.200s", resp.Status, answer)
	}
	return answer, nil
}
