// Package reliability makes the README's table from what drills wrote down, so
// that no figure in it is made by hand.
package reliability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Run is one run's drill.json, as far as the table needs it.
type Run struct {
	Date   string  `json:"date"` // of its end, 2006-01-02
	Seed   uint64  `json:"seed"`
	Broken int     `json:"promises_broken"`
	Rows   []Fault `json:"faults"`
}

// Fault is one row: one kind of fault, over all its strikes.
type Fault struct {
	Name         string  `json:"fault"` // empty is what was acknowledged before the first blow
	Tried        int     `json:"cycles"`
	Acknowledged int     `json:"acknowledged"`
	Lost         int     `json:"lost"`
	Oversold     int64   `json:"oversold_units"`
	Recover      float64 `json:"seconds_recover"` // worst
}

// Read reads a drill.json.
func Read(text []byte) (Run, error) {
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("reliability: this is no drill.json: %w", err)
	}
	if r.Date == "" || len(r.Rows) == 0 {
		return r, errors.New("reliability: this drill.json has no date or no faults; `make drill` writes one")
	}
	return r, nil
}

// Markdown is the table of several runs: strikes and losses are added, times
// and oversold units are the worst.
func Markdown(runs ...Run) string {
	var order []string
	sum, first, last, broken := map[string]Fault{}, "", "", 0
	for _, run := range runs {
		broken += run.Broken
		if first == "" || run.Date < first {
			first = run.Date
		}
		last = max(last, run.Date)
		for _, f := range run.Rows {
			s, known := sum[f.Name]
			if !known && f.Name != "" {
				order = append(order, f.Name)
			}
			sum[f.Name] = Fault{Name: f.Name, Tried: s.Tried + f.Tried, Acknowledged: s.Acknowledged + f.Acknowledged, Lost: s.Lost + f.Lost,
				Oversold: max(s.Oversold, f.Oversold), Recover: max(s.Recover, f.Recover)}
		}
	}
	var b strings.Builder
	b.WriteString("| fault, under load | times tried | acknowledged under it | of those lost | units oversold | seconds until orders go the whole path, worst |\n|---|---|---|---|---|---|\n")
	tried := 0
	for _, name := range order {
		f := sum[name]
		tried += f.Tried
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.1f |\n", f.Name, f.Tried, f.Acknowledged, f.Lost, f.Oversold, f.Recover)
	}
	when := first
	if last != first {
		when += " to " + last
	}
	fmt.Fprintf(&b, "\n%d strikes in %d runs, %s; %d promises broken.\n", tried, len(runs), when, broken)
	return b.String()
}

// Marks of the place in a document where the table stands.
const (
	Begin = "<!-- drill-table -->\n"
	End   = "<!-- /drill-table -->"
)

// Into puts a table between the marks of a document.
func Into(document []byte, table string) ([]byte, error) {
	head, rest, ok := bytes.Cut(document, []byte(Begin))
	_, tail, closed := bytes.Cut(rest, []byte(End))
	if !ok || !closed {
		return nil, fmt.Errorf("reliability: the document has no %q and %q, each on a line of its own", strings.TrimSpace(Begin), End)
	}
	return bytes.Join([][]byte{head, []byte(Begin), []byte(table), []byte(End), tail}, nil), nil
}
