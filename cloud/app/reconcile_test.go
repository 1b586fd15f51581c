package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"vendline/cloud/app"
	"vendline/cloud/effect"
	"vendline/cloud/fleet"
	"vendline/cloud/order"
)

// An operator asks the service: what differs is told, left alone in a dry run,
// and repaired once.
func TestAnOperatorReconciles(t *testing.T) {
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
	}, app.System(slog.New(slog.DiscardHandler)))
	check(t, err)
	defer a.Close()
	check(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	for _, c := range []string{"C001", "C002"} {
		check(t, a.Ledger.AddCabinet(t.Context(), c, map[string]int64{"cola": 5}))
	}
	go func() { _ = a.Serve(t.Context()) }()
	base := "http://" + a.HTTPAddr()
	ask(t, "POST", base+"/v1/orders", `{"cabinet":"C001","user":"ann","lines":[{"sku":"cola","qty":1}]}`, new(map[string]any))

	if rep, _ := reconcileOver(t, base, `{"all":true}`); rep.Equal != 1 || rep.NotLoaded != 1 || rep.Findings != 0 {
		t.Errorf("a consistent system: %+v", rep)
	}
	wrong := a.Stock.Adjust(t.Context(), []effect.Adjust{{ID: app.NewID(), Cabinet: "C001", Deltas: []effect.Delta{{SKU: "cola", Units: 3}}}})
	check(t, wrong[0].Err)
	for i, want := range []struct {
		body, finding      string
		findings, repaired int
	}{
		{`{"cabinets":["C001"],"dry_run":true}`, "dry_run: cola 7 for 4", 1, 0},
		{`{"cabinets":["C001"]}`, "repaired: cola 7 for 4", 1, 1},
		{`{"cabinets":["C001"]}`, "", 0, 0},
	} {
		rep, found := reconcileOver(t, base, want.body)
		if rep.Findings != want.findings || rep.Repaired != want.repaired || found != want.finding {
			t.Errorf("%d: %+v, %q", i, rep, found)
		}
	}
	var kept struct {
		Findings []struct{ Cabinet, State string }
	}
	ask(t, "GET", base+"/v1/fleet/reconcile", "", &kept)
	if got := fmt.Sprint(kept.Findings); got != "[{C001 repaired} {C001 dry_run}]" {
		t.Errorf("kept are %s", got)
	}
	for body, problem := range map[string]string{
		`{"all":true,"cabinets":["C001"]}`: "all must be true", `{}`: "must name cabinets", `{"cabinets":["C404"]}`: "is no cabinet", `{"all":1}`: "all",
	} {
		res, err := http.Post(base+"/v1/fleet/reconcile", "application/json", strings.NewReader(body))
		check(t, err)
		text, err := io.ReadAll(res.Body)
		check(t, err)
		if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), problem) {
			t.Errorf("%s: %s %s", body, res.Status, text)
		}
	}
}

// reconcileOver asks the service and returns its report, and one finding in words.
func reconcileOver(t *testing.T, base, body string) (rep fleet.RoundReport, found string) {
	t.Helper()
	res, err := http.Post(base+"/v1/fleet/reconcile", "application/json", strings.NewReader(body))
	check(t, err)
	defer res.Body.Close()
	s := bufio.NewScanner(res.Body)
	for s.Scan() {
		var line struct {
			Finding *struct {
				State string
				Lines []struct {
					SKU             string
					Expected, Found int64
				}
			}
			Report *fleet.RoundReport
		}
		check(t, json.Unmarshal(s.Bytes(), &line))
		if f := line.Finding; f != nil {
			found = fmt.Sprintf("%s: %s %d for %d", f.State, f.Lines[0].SKU, f.Lines[0].Found, f.Lines[0].Expected)
		}
		if line.Report != nil {
			rep = *line.Report
		}
	}
	check(t, s.Err())
	return rep, found
}
