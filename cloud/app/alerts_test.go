package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"vendline/cloud/alert"
	"vendline/cloud/order"
)

func embedded(t *testing.T, change func(*Config)) (*App, string) {
	t.Helper()
	dir := t.TempDir()
	c := Config{HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		MQTT: "embedded://127.0.0.1:0", MQTTPassword: "cloud", Sandbox: "embedded", CabinetPassword: func(string) (string, bool) { return "", false }}
	if change != nil {
		change(&c)
	}
	a, err := New(t.Context(), c, System(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return a, "http://" + a.HTTPAddr()
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

var metric = regexp.MustCompile(`vendline_[a-z_]+`)

// What Prometheus asks for is there, and each rule of ours has its twin.
func TestPrometheusRulesAreTwinsOfOurOwn(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	read(t, "rules.yaml", &file)
	var scrape map[string]any
	read(t, "prometheus.yaml", &scrape)
	if fmt.Sprint(scrape["rule_files"]) != "[rules.yaml]" {
		t.Errorf("the example reads %v", scrape["rule_files"])
	}
	a, url := embedded(t, nil)
	if err := a.intake.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.alerts.began = time.Time{} // it has listened to cabinets for long
	_, text := ask(t, http.MethodGet, url+"/metrics", "")
	there := map[string]bool{}
	for line := range strings.Lines(text) {
		if name := metric.FindString(line); strings.HasPrefix(line, "vendline_") {
			there[name] = true
		}
	}
	twins := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if twin := r.Labels["twin"]; twin != "" {
				twins[twin] = r.Labels["severity"]
			}
			for _, name := range metric.FindAllString(r.Expr, -1) {
				if !there[name] {
					t.Errorf("%s: nobody exposes %s", r.Alert, name)
				}
			}
			if _, err := time.ParseDuration(r.For); err != nil || r.Annotations["summary"] == "" || r.Annotations["runbook"] == "" {
				t.Errorf("%s is not complete: %v", r.Alert, err)
			}
		}
	}
	for _, r := range a.alerts.rules {
		if twins[r.Name] != string(r.Severity) {
			t.Errorf("%s is %s here and %q in Prometheus", r.Name, r.Severity, twins[r.Name])
		}
		delete(twins, r.Name)
	}
	if len(twins) > 0 || len(a.alerts.rules) != len(alert.Names()) {
		t.Errorf("%d of %d rules run here; twins of nothing: %v", len(a.alerts.rules), len(alert.Names()), twins)
	}
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// A case is told to a webhook, snoozed over HTTP, and told to be over.
func TestACaseIsToldAndTakenBack(t *testing.T) {
	heard := make(chan alert.Notification, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n alert.Notification
		if json.NewDecoder(r.Body).Decode(&n) == nil {
			heard <- n
		}
	}))
	defer hook.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), "a secret of sixteen bytes\n")
	write(t, filepath.Join(dir, "alerts.json"), `{"rules":[{"name":"refund_stuck","quiet":"0s"}],"sinks":[{"name":"ops","kind":"webhook","url":"`+hook.URL+`","secret_file":"secret","private":true}]}`)
	a, url := embedded(t, func(c *Config) { c.Alerts = filepath.Join(dir, "alerts.json") })
	if err := a.Ledger.OpenCase(t.Context(), order.Case{Kind: order.CaseRefundStuck, Subject: "r1", Order: ""}); err != nil {
		t.Fatal(err)
	}
	n := await(t, heard)
	if n.Key != "refund_stuck" || n.State != alert.Firing || n.Severity != alert.Critical || n.Examples[0] != "r1" || n.Runbook == "" {
		t.Errorf("told %+v", n)
	}
	for body, want := range map[string]int{
		`{"for":"2h","reason":"ann is on it","by":"ann"}`: 200, `{"for":"2h","reason":""}`: 400, `{"for":"721h","reason":"x"}`: 400, `{"for":"1s","reason":"x"}`: 400, `{"for":"for ever","reason":"x"}`: 400,
	} {
		if code, text := ask(t, http.MethodPost, url+"/v1/fleet/alerts/refund_stuck/snooze", body); code != want {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	if code, _ := ask(t, http.MethodPost, url+"/v1/fleet/alerts/nothing/snooze", `{"for":"2h","reason":"x"}`); code != 404 {
		t.Errorf("an alert that is not there is snoozed: %d", code)
	}
	if _, text := ask(t, http.MethodGet, url+"/v1/fleet/alerts", ""); !strings.Contains(text, `"reason":"ann is on it"`) {
		t.Errorf("the page has %s", text)
	}
	if _, text := ask(t, http.MethodGet, url+"/metrics", ""); !strings.Contains(text, `vendline_alerts{rule="refund_stuck",severity="critical",state="snoozed"} 1`) {
		t.Error("metrics do not count it as snoozed")
	}
	if code, _ := ask(t, http.MethodDelete, url+"/v1/fleet/alerts/refund_stuck/snooze?by=ann", ""); code != 200 {
		t.Errorf("the snooze does not end: %d", code)
	}
	if code, _ := ask(t, http.MethodPost, url+"/v1/fleet/snoozes", `{"rule":"outbox_lag","labels":[{"name":"kind","value":"stock"}],"for":"1h","reason":"x"}`); code != 200 {
		t.Errorf("a rule is not snoozed: %d", code)
	}
	if code, text := ask(t, http.MethodPost, url+"/v1/fleet/sinks/ops/test", ""); code != 200 || !strings.Contains(text, `"told":true`) || await(t, heard).Key != "test" {
		t.Errorf("a test: %d %s", code, text)
	}
	cases, err := a.Ledger.Cases(t.Context(), false, 1)
	if err != nil || len(cases) != 1 {
		t.Fatal(err, cases)
	}
	if err := a.Ledger.CloseCase(t.Context(), cases[0].ID, "done"); err != nil {
		t.Fatal(err)
	}
	if n := await(t, heard); n.Key != "refund_stuck" || n.State != alert.Resolved {
		t.Errorf("told %+v", n)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, heard chan alert.Notification) alert.Notification {
	t.Helper()
	select {
	case n := <-heard:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nothing was told")
		return alert.Notification{}
	}
}

func TestABadAlertsFileNamesTheField(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "short"), "x")
	for text, want := range map[string]string{
		`{"rules":[{"name":"nothing"}]}`:                                             "rules[0].name",
		`{"rules":[{"name":"outbox_lag","for":"soon"}]}`:                             "rules[0].for",
		`{"rules":[{"name":"outbox_lag","fro":"1m"}]}`:                               "rules[0].fro",
		`{"sinks":[{"kind":"pager"}]}`:                                               "sinks[0].kind",
		`{"sinks":[{"kind":"webhook","url":"https://x.example/"}]}`:                  "sinks[0].secret_file",
		`{"sinks":[{"kind":"log"},{"kind":"log"}]}`:                                  "sinks[1].name",
		`{"sinks":[{"kind":"alertmanager","url":"http://10.0.0.1:9093"}]}`:           "sinks[0].url",
		`{"sinks":[{"kind":"webhook","url":"https://x.io/","secret_file":"short"}]}`: "sinks[0].secret_file",
		`{"sinks":[{"kind":"dingtalk","url_file":"none"}]}`:                          "sinks[0].url_file",
		`{"sinks":[]} x`: "after",
	} {
		file := filepath.Join(dir, "alerts.json")
		write(t, file, text)
		a := &App{Config: Config{}, Deps: System(slog.New(slog.DiscardHandler))}
		c, at, err := readAlerts(file)
		if err == nil {
			_, _, err = a.openSinks(c, at)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
