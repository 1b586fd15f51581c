package fence_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"vendline/cloud/fence"
)

type fakes struct {
	loaded   string // generation in Redis
	current  string // generation in the ledger
	rebuilds int
	loads    int
	gate     chan struct{}
	err      error
}

func (f *fakes) Generation(context.Context, string) (string, error) { return f.loaded, nil }

func (f *fakes) Load(_ context.Context, s fence.Snapshot) error {
	f.loads++
	f.loaded = s.Generation
	return nil
}

func (f *fakes) Rebuild(ctx context.Context, _ string, current func(context.Context, string) (bool, error), load func(context.Context, fence.Snapshot) error) error {
	f.rebuilds++
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if ok, err := current(ctx, f.current); err != nil || ok {
		return err
	}
	if f.err != nil {
		return f.err
	}
	if err := load(ctx, fence.Snapshot{Generation: f.current + "+"}); err != nil {
		return err
	}
	f.current += "+"
	return nil
}

func (f *fakes) Draw(context.Context, string, string) error { return f.err }

func (f *fakes) fence() *fence.Fence {
	return &fence.Fence{Ledger: f, Stock: f, Log: slog.New(slog.DiscardHandler)}
}

func TestARebuildLoadsWhatIsNotCurrentAndNothingElse(t *testing.T) {
	f := &fakes{current: "g"}
	for range 2 {
		if err := f.fence().Rebuild(t.Context(), "C1"); err != nil {
			t.Fatal(err)
		}
	}
	if f.loads != 1 || f.rebuilds != 2 || f.loaded != "g+" {
		t.Errorf("%d loads in %d rebuilds, loaded %s", f.loads, f.rebuilds, f.loaded)
	}
}

func TestCallersAtOnceShareARebuildThatOutlivesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{current: "g", gate: make(chan struct{})}
		fn := f.fence()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := fn.Rebuild(ctx, "C1"); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who gave up: %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if err := fn.Rebuild(t.Context(), "C1"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(f.gate)
		wg.Wait()
		if f.rebuilds != 1 || f.loads != 1 {
			t.Errorf("%d rebuilds", f.rebuilds)
		}
	})
}

func TestAFailedRebuildIsTold(t *testing.T) {
	f := &fakes{current: "g", err: errors.New("away")}
	if err := f.fence().Rebuild(t.Context(), "C1"); !errors.Is(err, f.err) {
		t.Errorf("got %v", err)
	}
	if err := f.fence().Draw(t.Context(), "C1", "g"); !errors.Is(err, f.err) {
		t.Errorf("got %v", err)
	}
}
