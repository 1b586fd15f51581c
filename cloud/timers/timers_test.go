package timers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/queue"
	"vendline/cloud/timers"
)

// holds are orders by id with the time they end.
type holds struct {
	ends  map[string]time.Time
	err   error
	asked [][]string
}

func (h *holds) Expire(_ context.Context, ids []string) (n int, err error) {
	h.asked = append(h.asked, ids)
	for _, id := range ids {
		if end, ok := h.ends[id]; ok && !end.After(time.Now()) && h.err == nil {
			delete(h.ends, id)
			n++
		}
	}
	return n, h.err
}

func (h *holds) Overdue(_ context.Context, at time.Time, n int) (ids []string, err error) {
	for id, end := range h.ends {
		if !end.After(at) && len(ids) < n {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (h *holds) timers() *timers.Timers {
	return &timers.Timers{Orders: h, Ledger: h, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func TestAHintEndsWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holds{ends: map[string]time.Time{"due": time.Now(), "early": time.Now().Add(time.Minute)}}
		err := h.timers().Handle(t.Context(), []queue.Message{{Body: []byte("{")}, {Body: []byte(`{"at":1,"ids":["due","early"]}`)}})
		if err != nil || len(h.ends) != 1 {
			t.Errorf("%v, left %v", err, h.ends)
		}
	})
}

func TestAHintThatCouldNotBeFollowedComesAgain(t *testing.T) {
	h := &holds{err: errors.New("away")}
	if err := h.timers().Handle(t.Context(), []queue.Message{{Body: []byte(`{"ids":["a"]}`)}}); !errors.Is(err, h.err) {
		t.Errorf("got %v", err)
	}
}

func TestHoldsEndThoughEveryHintIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holds{ends: map[string]time.Time{}}
		for i := range 1200 {
			h.ends[fmt.Sprint(i)] = time.Now().Add(time.Minute)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+5*time.Second)
		defer cancel()
		h.timers().Run(ctx)
		if len(h.ends) != 0 {
			t.Errorf("%d holds live on, one sweep after their end", len(h.ends))
		}
	})
}

func TestASweepThatEndsNothingStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holds{ends: map[string]time.Time{"a": time.Now()}, err: errors.New("away")}
		if n, err := h.timers().Sweep(t.Context()); n != 0 || !errors.Is(err, h.err) || len(h.asked) != 1 {
			t.Errorf("%d, %v after %d tries", n, err, len(h.asked))
		}
		if !slices.Equal(h.asked[0], []string{"a"}) {
			t.Errorf("asked %v", h.asked)
		}
	})
}
