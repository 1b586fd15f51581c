package drill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Summary is what a run showed.
type Summary struct {
	Seed         uint64  `json:"seed"`
	Seconds      float64 `json:"seconds"`
	Orders       int     `json:"orders_asked_for"`
	Acknowledged int     `json:"acknowledged"`
	Refused      int     `json:"refused"`
	Paid         int     `json:"paid"`
	Samples      int     `json:"oversell_samples"`
	Broken       int     `json:"promises_broken"`
	Rows         []Row   `json:"faults"`
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

// Summarize counts per fault.
func Summarize(plan Plan, events []Event, strikes []Strike, samples int, oversold map[string]int64, repaired map[string]int64, findings []Finding) Summary {
	s := Summary{Seed: plan.Seed, Samples: samples, Broken: len(findings)}
	rows := map[string]*Row{}
	row := func(fault string) *Row {
		if rows[fault] == nil {
			rows[fault] = &Row{Fault: fault}
		}
		return rows[fault]
	}
	order := map[string]int{}
	for _, k := range strikes {
		r := row(k.Fault)
		r.Cycles++
		r.Recover = max(r.Recover, k.Recover.Seconds())
		if _, known := order[k.Fault]; !known {
			order[k.Fault] = len(order)
		}
	}
	for _, e := range events {
		if e.Kind != Restock {
			s.Orders++
		}
		switch e.Outcome {
		case Yes:
			s.Acknowledged++
			row(e.Fault).Acknowledged++
		case No:
			s.Refused++
		}
		if e.Paid {
			s.Paid++
			row(e.Fault).Acknowledged++
		}
	}
	for _, f := range findings {
		if f.ID != "" {
			row(f.Fault).Lost++
		}
	}
	for fault, n := range oversold {
		if n > 0 {
			row(fault).Oversold = n
		}
	}
	for fault, n := range repaired {
		row(fault).Repaired += n
	}
	for _, r := range rows {
		s.Rows = append(s.Rows, *r)
	}
	slices.SortFunc(s.Rows, func(a, b Row) int {
		x, known := order[a.Fault]
		y, knownToo := order[b.Fault]
		switch {
		case known && knownToo:
			return x - y
		case known != knownToo:
			return map[bool]int{true: 1, false: -1}[known]
		}
		return cmp.Compare(a.Fault, b.Fault)
	})
	return s
}

// Markdown writes the summary as a table.
func (s Summary) Markdown(w io.Writer) {
	fmt.Fprintf(w, "\nSeed %d, %.0f s: %d orders asked for, %d acknowledged (orders, scans, facts), %d refused, %d paid; %d looks at what is promised; %d promises broken.\n\n",
		s.Seed, s.Seconds, s.Orders, s.Acknowledged, s.Refused, s.Paid, s.Samples, s.Broken)
	fmt.Fprintln(w, "| fault | cycles | acknowledged | lost | oversold | taken back by the guard | seconds to recover |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range s.Rows {
		fault, back := r.Fault, fmt.Sprintf("%.1f", r.Recover)
		if strings.TrimSpace(fault) == "" {
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
