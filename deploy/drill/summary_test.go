package drill

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestTheSummaryCountsPerFault(t *testing.T) {
	events := []Event{
		{ID: "1", Kind: Phone, Outcome: Yes, Fault: "b", Paid: true}, {ID: "2", Kind: Scan, Outcome: Yes, Fault: "a"},
		{ID: "3", Kind: Phone, Outcome: No, Code: "stock_short", Fault: "a"}, {ID: "4", Kind: Restock, Outcome: Yes},
	}
	s := Summarize(Result{
		Plan: NewPlan(9), Events: events, Strikes: []Strike{{"b", time.Second}, {"a", time.Second}, {"b", 3 * time.Second}},
		State: State{Orders: []OrderRow{{ID: "3"}}}, Oversold: map[string]int64{"a": 2}, Repaired: map[string]int64{"a": 1},
		Findings: []Finding{{ID: "1", Fault: "b"}, {}},
	})
	want := []Row{{Fault: "b", Cycles: 2, Acknowledged: 2, Lost: 1, Recover: 3}, {Fault: "a", Cycles: 1, Acknowledged: 1, Oversold: 2, Repaired: 1, Recover: 1}, {Acknowledged: 1}}
	if len(s.Rows) != 3 || s.Rows[0] != want[0] || s.Rows[1] != want[1] || s.Rows[2] != want[2] {
		t.Errorf("rows %+v", s.Rows)
	}
	if s.Orders != 3 || s.Acknowledged != 3 || s.Refused != 1 || s.Codes["stock_short"] != 1 || s.Regretted != 1 || s.Paid != 1 || s.Broken != 2 {
		t.Errorf("%+v", s)
	}
	dir := t.TempDir()
	if err := s.Save(dir); err != nil {
		t.Error(err)
	}
	var table, machine strings.Builder
	s.Markdown(&table)
	if !strings.Contains(table.String(), "| b | 2 | 2 | 1 | 0 | 0 | 3.0 |") {
		t.Error(table.String())
	}
	var back Summary
	if err := s.JSON(&machine); err != nil || json.Unmarshal([]byte(machine.String()), &back) != nil || back.Seed != 9 {
		t.Errorf("%v %s", err, machine.String())
	}
}
