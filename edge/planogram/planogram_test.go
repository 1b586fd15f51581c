package planogram

import (
	"context"
	"strings"
	"testing"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/standin/powercut"
	"vendline/shared/wire"
)

func TestMain(m *testing.M) { powercut.Main(m, live) }

// live takes two versions.
func live(dir string, hook outbox.Hook) error {
	box, err := outbox.Open(context.Background(), outbox.Options{Dir: dir, Cabinet: "C001", Hook: hook})
	if err != nil {
		return err
	}
	s := New(box, "C001", time.Now)
	for v := int64(1); v <= 2; v++ {
		if _, err := s.Take(context.Background(), version(v)); err != nil {
			return err
		}
	}
	return box.Close()
}

func version(v int64) *wire.Planogram {
	return &wire.Planogram{Version: v, Slots: []wire.Slot{{Slot: "A1", SKU: "cola", Capacity: 12, Price: 300 + v, Currency: "CNY"}}}
}

func open(t *testing.T, dir string) (*Store, *outbox.Outbox) {
	t.Helper()
	box, err := outbox.Open(t.Context(), outbox.Options{Dir: dir, Cabinet: "C001"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return New(box, "C001", time.Now), box
}

// told are the versions that the outbox tells the cloud of.
func told(t *testing.T, box *outbox.Outbox) (versions []int64) {
	t.Helper()
	rows, err := box.Pending(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		versions = append(versions, r.Fact.Planogram)
		if r.ID != ident.OfPlanogram("C001", r.Fact.Planogram) {
			t.Errorf("version %d is told under id %s", r.Fact.Planogram, r.ID)
		}
	}
	return versions
}

func TestOnlyAHigherVersionIsTakenAndEachIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	s, box := open(t, dir)
	if _, ok, err := s.Current(); ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, c := range []struct {
		version int64
		taken   bool
	}{{3, true}, {3, false}, {2, false}, {5, true}, {3, false}} {
		if taken, err := s.Take(t.Context(), version(c.version)); err != nil || taken != c.taken {
			t.Errorf("version %d: %v, %v", c.version, taken, err)
		}
	}
	if got := told(t, box); len(got) != 2 || got[0] != 3 || got[1] != 5 {
		t.Fatalf("told %v", got)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = open(t, dir)
	if p, ok, err := s.Current(); err != nil || !ok || p.Version != 5 || p.Slots[0].Price != 305 {
		t.Fatalf("after a restart: %+v, %v", p, err)
	}
}

func TestAPlanogramThatMakesNoSenseIsRefused(t *testing.T) {
	s, box := open(t, t.TempDir())
	for name, spoil := range map[string]func(*wire.Planogram){
		"no version": func(p *wire.Planogram) { p.Version = 0 }, "a slot twice": func(p *wire.Planogram) { p.Slots = append(p.Slots, p.Slots[0]) },
		"a slot without a name": func(p *wire.Planogram) { p.Slots[0].Slot = "" }, "a SKU of spaces": func(p *wire.Planogram) { p.Slots[0].SKU = " " },
		"a price below zero": func(p *wire.Planogram) { p.Slots[0].Price = -1 },
	} {
		p := version(1)
		spoil(p)
		if taken, err := s.Take(t.Context(), p); taken || err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if taken, err := s.Take(t.Context(), nil); taken || err == nil || box.Depth() != 0 {
		t.Error("none was taken for one")
	}
}

func TestAPowerCutNeverPartsAVersionFromItsEvent(t *testing.T) {
	for _, die := range powercut.Points("planogram#1", "planogram#2") {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			powercut.Run(t, dir, die)
			s, box := open(t, dir)
			p, _, err := s.Current()
			if err != nil {
				t.Fatal(err)
			}
			if got := told(t, box); int64(len(got)) != p.Version {
				t.Fatalf("version %d is in force, and %v were told", p.Version, got)
			}
			if _, err := s.Take(t.Context(), version(2)); err != nil {
				t.Fatal(err)
			}
			if p, _, _ := s.Current(); p.Version != 2 {
				t.Fatalf("then version %d", p.Version)
			}
		})
	}
}
