package drill

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vendline/shared/wire"
)

// Summary is what a run showed.
type Summary struct {
	Date         string            `json:"date"` // of its end
	Seed         uint64            `json:"seed"`
	Seconds      float64           `json:"seconds"`
	Orders       int               `json:"orders_asked_for"`
	Acknowledged int               `json:"acknowledged"`
	Refused      int               `json:"refused"`
	Codes        map[wire.Code]int `json:"refusals"`
	Regretted    int               `json:"refused_yet_placed"` // a no was heard, though an earlier attempt whose answer was lost had placed the order
	Paid         int               `json:"paid"`
	Samples      int               `json:"oversell_samples"`
	Broken       int               `json:"promises_broken"`
	Rows         []Row             `json:"faults"`
}

// Row is one fault, over all cycles.
type Row struct {
	Fault        string  `json:"fault"`
	Cycles       int     `json:"cycles"`
	Acknowledged int     `json:"acknowledged"`    // orders, scans, facts and payments that were told yes under it
	Lost         int     `json:"lost"`            // of those, how many broke a promise
	Oversold     int64   `json:"oversold_units"`  // of any SKU at any moment, at most
	Repaired     int64   `json:"repaired_units"`  // taken back by step 8's guard
	Recover      float64 `json:"seconds_recover"` // worst: from the blow until new orders go the whole path again
}

// Strike is one blow: what it was, and how long until all was well again.
type Strike struct {
	Fault   string
	Recover time.Duration
}

// Result is all that a run has to say.
type Result struct {
	Plan     Plan
	Events   []Event
	State    State
	Strikes  []Strike
	Samples  int
	Oversold map[string]int64 // units, by fault
	Repaired map[string]int64 // units, by fault
	Findings []Finding
}

// Summarize counts per fault, in the order of the strikes.
func Summarize(r Result) Summary {
	s := Summary{Date: time.Now().UTC().Format(time.DateOnly), Seed: r.Plan.Seed, Samples: r.Samples, Broken: len(r.Findings), Codes: map[wire.Code]int{}}
	placed := map[string]bool{}
	for _, o := range r.State.Orders {
		placed[o.ID] = !o.Orphan
	}
	rows := &table{at: map[string]int{}}
	for _, k := range r.Strikes {
		row := rows.of(k.Fault)
		row.Cycles++
		row.Recover = max(row.Recover, k.Recover.Seconds())
	}
	for _, e := range r.Events {
		if e.Kind != Restock {
			s.Orders++
		}
		switch e.Outcome {
		case Yes:
			s.Acknowledged++
			rows.of(e.Fault).Acknowledged++
		case No:
			s.Refused++
			s.Codes[e.Code]++
			if placed[e.ID] {
				s.Regretted++
			}
		}
		if e.Paid {
			s.Paid++
			rows.of(e.Fault).Acknowledged++
		}
	}
	for _, f := range r.Findings {
		if f.ID != "" {
			rows.of(f.Fault).Lost++
		}
	}
	for fault, n := range r.Oversold {
		rows.of(fault).Oversold += n
	}
	for fault, n := range r.Repaired {
		rows.of(fault).Repaired += n
	}
	s.Rows = rows.rows
	return s
}

// table keeps its rows in the order they were first asked for.
type table struct {
	rows []Row
	at   map[string]int
}

func (t *table) of(fault string) *Row {
	i, known := t.at[fault]
	if !known {
		i = len(t.rows)
		t.at[fault], t.rows = i, append(t.rows, Row{Fault: fault})
	}
	return &t.rows[i]
}

// Markdown writes the summary as a table.
func (s Summary) Markdown(w io.Writer) {
	fmt.Fprintf(w, "\nSeed %d, %.0f s: %d orders asked for, %d acknowledged (orders, scans, facts), %d paid, %d refused %v; %d looks at what is promised; %d promises broken.\n\n",
		s.Seed, s.Seconds, s.Orders, s.Acknowledged, s.Paid, s.Refused, s.Codes, s.Samples, s.Broken)
	fmt.Fprintln(w, "| fault | cycles | acknowledged | lost | oversold | taken back by the guard | seconds to recover |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range s.Rows {
		fault, back := r.Fault, fmt.Sprintf("%.1f", r.Recover)
		if fault == "" {
			fault = "none"
		}
		if r.Cycles == 0 {
			back = ""
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %s |\n", fault, r.Cycles, r.Acknowledged, r.Lost, r.Oversold, r.Repaired, back)
	}
	fmt.Fprintln(w)
}

// JSON writes the summary for machines.
func (s Summary) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// Save writes the summary into a folder, for people and for machines.
func (s Summary) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var md, js strings.Builder
	s.Markdown(&md)
	if err := s.JSON(&js); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "drill.md"), []byte(md.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "drill.json"), []byte(js.String()), 0o644)
}
