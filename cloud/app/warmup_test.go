package app_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"vendline/cloud/app"
	"vendline/cloud/order"
)

func TestTimesOfWarmUpsAreReadOrRefusedInWords(t *testing.T) {
	got, err := app.ParsePeaks(" 07:30; 11:45=north ;23:59 = B_1")
	check(t, err)
	if s := fmt.Sprint(got); s != "[07:30 11:45=north 23:59=B_1]" {
		t.Errorf("read as %s", s)
	}
	if got, err := app.ParsePeaks(" "); err != nil || got != nil {
		t.Errorf("none is %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"7h30": `"7h30" is no time of day`, "25:00": `"25:00" is no time of day`, "07:30;": "nothing beside a ';'", "07:30=": `"" cannot be a group`,
		"07:30=no rth": `"no rth" cannot be a group`, "07:30;07:30": "07:30 is there twice", "north=07:30": `"north" is no time of day`,
	} {
		if _, err := app.ParsePeaks(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		c := app.Config{Roles: app.AllRoles(), Mode: app.ModeSync, Ledger: "x", WarmupAt: text}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a service starts with %q: %v", text, err)
		}
	}
	c := app.Config{Roles: app.AllRoles(), Mode: app.ModeSync, Ledger: "x", WarmupZone: "Mars/Base"}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `"Mars/Base" is not known`) {
		t.Errorf("a service starts on Mars: %v", err)
	}
}

func TestAWarmUpIsDueAtItsTimeInItsZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	for _, c := range []struct {
		now, want string
		peak      app.Peak
		zone      *time.Location
	}{
		{"2026-12-01T07:29:59Z", "2026-12-01T07:30:00Z", app.Peak{Hour: 7, Minute: 30}, time.UTC},
		{"2026-12-01T07:30:00Z", "2026-12-02T07:30:00Z", app.Peak{Hour: 7, Minute: 30}, time.UTC},
		{"2026-12-31T07:00:00Z", "2027-01-01T06:30:00Z", app.Peak{Hour: 7, Minute: 30}, berlin},
		{"2026-03-28T22:00:00Z", "2026-03-29T01:30:00Z", app.Peak{Hour: 2, Minute: 30}, berlin}, // 02:30 does not exist: 03:30
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		check(t, err)
		if got := c.peak.Next(now, c.zone).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("after %s: %s, want %s", c.now, got, c.want)
		}
	}
}

// Of two processes one loads the group, and only the group.
func TestAWarmUpIsDoneOncePerFleet(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	deps := app.System(slog.New(slog.DiscardHandler))
	deps.Clock = func() time.Time { return now }
	a, err := app.New(t.Context(), app.Config{
		HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"), ReconcileEvery: -1,
	}, deps)
	check(t, err)
	defer a.Close()
	check(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	for _, c := range []string{"C001", "C002", "C003"} {
		check(t, a.Ledger.AddCabinet(t.Context(), c, map[string]int64{"cola": 5}))
	}
	check(t, a.Ledger.SetGroup(t.Context(), "C002", "north"))
	north := app.Peak{Hour: 7, Minute: 30, Group: "north"}
	for range 2 {
		check(t, a.WarmPeak(t.Context(), north, now))
		loaded, err := a.Stock.SellableMany(t.Context(), []string{"C001", "C002", "C003"})
		check(t, err)
		if fmt.Sprint(loaded) != "map[C002:map[cola:5]]" {
			t.Errorf("loaded is %v", loaded)
		}
	}
	report := func() string {
		j, err := a.Ledger.FindJob(t.Context(), "warmup 07:30=north")
		check(t, err)
		return string(j.Report)
	}
	first := report()
	if !strings.Contains(first, `"loaded":1,"failed":0`) {
		t.Errorf("reported %s", first)
	}
	now = now.Add(24 * time.Hour)
	check(t, a.WarmPeak(t.Context(), north, now))
	if again := report(); again == first {
		t.Error("the next day it is not done again")
	}
}
