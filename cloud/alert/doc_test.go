package alert_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"vendline/cloud/alert"
)

// The table in the docs is what runs.
func TestTheDocsTellTheRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alert.Documented() {
		adjust := []string{}
		if r.After > 0 {
			adjust = append(adjust, "`after` "+brief(r.After))
		}
		if r.Threshold > 0 {
			adjust = append(adjust, fmt.Sprintf("`threshold` %d", r.Threshold))
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s / %s | %s | %s |", r.Name, r.Severity, r.Help, brief(r.For), brief(r.Quiet), brief(r.Repeat), strings.Join(adjust, ", "))
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/alerts.md lacks\n%s", row)
		}
	}
}

func brief(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
