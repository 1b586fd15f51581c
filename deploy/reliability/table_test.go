package reliability

import (
	"strings"
	"testing"
)

func TestRunsAddUpAndTheWorstTimeStands(t *testing.T) {
	one, err := Read([]byte(`{"date":"2026-12-01","promises_broken":1,"faults":[{"fault":"redis paused","cycles":3,"acknowledged":10,"lost":1,"oversold_units":0,"seconds_recover":4.25},{"fault":"","acknowledged":7}]}`))
	if err != nil {
		t.Fatal(err)
	}
	two := Run{Date: "2026-12-02", Rows: []Fault{{Name: "redis paused", Tried: 2, Acknowledged: 5, Oversold: 2, Recover: 1}, {Name: "disk full", Tried: 1}}}
	got := Markdown(one, two)
	for _, want := range []string{
		"| redis paused | 5 | 15 | 1 | 2 | 4.2 |", "| disk full | 1 | 0 | 0 | 0 | 0.0 |", "6 strikes in 2 runs, 2026-12-01 to 2026-12-02; 1 promises broken.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestWhatIsNoRunIsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", `{"date":"2026-12-01"}`, `{"faults":[{"fault":"x"}]}`} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestTheTableGoesBetweenItsMarks(t *testing.T) {
	doc, err := Into([]byte("a\n"+Begin+"old\n"+End+"\nb\n"), "new\n")
	if err != nil || string(doc) != "a\n"+Begin+"new\n"+End+"\nb\n" {
		t.Errorf("%q, %v", doc, err)
	}
	if _, err := Into([]byte("no marks"), "new\n"); err == nil {
		t.Error("a document without marks was taken")
	}
}
