package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

func jobs() []promise {
	return []promise{
		{"a job is done by one, each time it is due", jobOnce},
		{"of many who take a job at once one gets it", jobRace},
		{"a job's report is kept, and a job that nobody did is known as such", jobReport},
		{"a cabinet is in one group", groupOne},
	}
}

func jobOnce(t *testing.T, f *Fixture) {
	take := func(want bool) {
		t.Helper()
		mine, err := f.TakeJob(f.ctx, "round", f.Now().Add(time.Minute))
		f.ok(err)
		if mine != want {
			t.Errorf("taken %v, want %v", mine, want)
		}
	}
	take(true)
	take(false)
	f.Pass(59 * time.Second)
	take(false)
	f.Pass(time.Second)
	take(true)
	take(false)
	if mine, err := f.TakeJob(f.ctx, "other", f.Now()); err != nil || !mine {
		t.Errorf("another job: %v, %v", mine, err)
	}
}

func jobRace(t *testing.T, f *Fixture) {
	for range 5 {
		var took atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				mine, err := f.TakeJob(f.ctx, "round", f.Now().Add(time.Minute))
				if err != nil {
					t.Error(err)
				}
				if mine {
					took.Add(1)
				}
			})
		}
		all.Wait()
		if took.Load() != 1 {
			t.Errorf("%d took it", took.Load())
		}
		f.Pass(time.Hour)
	}
}

func jobReport(t *testing.T, f *Fixture) {
	j, err := f.FindJob(f.ctx, "round")
	f.ok(err)
	if !j.Due.IsZero() || !j.Ended.IsZero() || len(j.Report) > 0 {
		t.Errorf("never done: %+v", j)
	}
	due := f.Now().Add(time.Minute)
	_, err = f.TakeJob(f.ctx, "round", due)
	f.ok(err)
	if j, err = f.FindJob(f.ctx, "round"); err != nil || !j.Due.Equal(due) || !j.Ended.IsZero() {
		t.Errorf("under way: %+v, %v", j, err)
	}
	f.Pass(time.Second)
	f.ok(f.EndJob(f.ctx, "round", []byte(`{"equal":3}`)))
	if j, err = f.FindJob(f.ctx, "round"); err != nil || !j.Ended.Equal(f.Now()) || string(j.Report) != `{"equal":3}` {
		t.Errorf("done: %+v, %v", j, err)
	}
}

func groupOne(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1})
	want := func(group string, cabinets ...string) {
		t.Helper()
		got, err := f.GroupCabinets(f.ctx, group)
		f.ok(err)
		if !slices.Equal(got, cabinets) {
			t.Errorf("%s has %v, want %v", group, got, cabinets)
		}
	}
	want("north")
	f.ok(f.SetGroup(f.ctx, "C2", "north"))
	f.ok(f.SetGroup(f.ctx, cabinet, "north"))
	f.ok(f.SetGroup(f.ctx, cabinet, "north"))
	want("north", cabinet, "C2")
	f.ok(f.SetGroup(f.ctx, "C2", "south"))
	want("north", cabinet)
	want("south", "C2")
	f.ok(f.SetGroup(f.ctx, "C2", ""))
	want("south")
	for _, c := range []string{"C404", "*"} {
		var refused *order.Refusal
		if err := f.SetGroup(f.ctx, c, "north"); !errors.As(err, &refused) || refused.Code != wire.CodeCabinetUnknown {
			t.Errorf("%s: %v", c, err)
		}
	}
}
