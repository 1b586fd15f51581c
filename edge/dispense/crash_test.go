package dispense

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vendline/edge/outbox"
	"vendline/edge/standin/powercut"
	"vendline/shared/wire"
)

// live is a journal's whole life: one command vended line by line, one that is
// over on arrival, one that nobody takes, one that the firmware never reports,
// and corrects later.
func live(dir string, hook outbox.Hook) error {
	ctx := context.Background()
	box, err := outbox.Open(ctx, outbox.Options{Dir: dir, Cabinet: "C001", Hook: hook})
	if err != nil {
		return err
	}
	var mono time.Duration
	j, err := Open(box, Options{Mono: func() time.Duration { return mono }})
	if err != nil {
		return err
	}
	j.asks.put(uuid(9001), 0)
	if _, err := j.Answer(ctx, wire.Command{Ask: uuid(9001), Dispense: lifeOffers()}); err != nil {
		return err
	}
	for range 2 {
		c, ok, err := j.Next(ctx)
		if err != nil || !ok {
			return fmt.Errorf("hand out: %v, %w", ok, err)
		}
		powercut.Say("handed %s", c.ID)
	}
	for _, sku := range []string{"cola", "water"} {
		if _, err := j.Result(ctx, uuid(1), []Result{{SKU: sku, State: wire.Dispensed}}, false); err != nil {
			return err
		}
		powercut.Say("told %s %s", uuid(1), sku)
	}
	mono = time.Hour // one has expired, and of another nobody knows
	if err := j.Sweep(ctx); err != nil {
		return err
	}
	if _, err := j.Result(ctx, uuid(2), []Result{{SKU: "cola", State: wire.Dispensed}}, false); err != nil {
		return err
	}
	powercut.Say("told %s cola", uuid(2))
	return box.Close()
}

func lifeOffers() []wire.Vend {
	return []wire.Vend{vend(1, time.Minute), vend(2, time.Minute), vend(3, time.Minute), vend(4, 0)}
}

func TestAPowerCutAtAnyStepVendsNothingTwiceAndReportsEverything(t *testing.T) {
	points := powercut.Points("accept#1", "accept#3", "accept#4", "hand out#1", "hand out#2",
		"result#1", "result#2", "end#1", "end#2", "result#3")
	for _, die := range append(points, "") {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			heard := powercut.Run(t, dir, die)
			r := openRig(t, dir, Options{})
			r.consistent()
			if got := r.next(); got != "" {
				t.Fatalf("%s was handed out before anybody asked", got)
			}
			r.offer(lifeOffers()...) // the cloud still offers all of it
			for id := r.next(); id != ""; id = r.next() {
				if slices.Contains(heard, "handed "+id) {
					t.Errorf("%s was handed out twice", id)
				}
				heard = append(heard, "handed "+id)
			}
			r.consistent()
			r.mono = time.Hour
			r.sweep()
			r.consistent()
			for n := 1; n <= 4; n++ {
				r.ended(heard, uuid(n))
			}
		})
	}
}

// consistent fails unless done and reported are the same thing.
func (r *rig) consistent() {
	r.t.Helper()
	for _, v := range lifeOffers() {
		c, err := r.Get(v.ID)
		if err != nil {
			continue // it never came
		}
		if n := len(r.reports(v.ID)); (c.State == Done) != (n > 0) || c.Event != "" && n == 0 {
			r.t.Errorf("%s is %s with %d reports", v.ID, c.State, n)
		}
	}
}

// ended fails unless id came to an end that fits what its firmware heard.
func (r *rig) ended(heard []string, id string) {
	r.t.Helper()
	c, err := r.Get(id)
	if err != nil || c.State != Done {
		r.t.Errorf("%s: %+v, %v", id, c, err)
		return
	}
	reports := r.reports(id)
	last := reports[len(reports)-1]
	for _, l := range last.Lines {
		told := slices.Contains(heard, "told "+id+" "+l.SKU)
		handed := slices.Contains(heard, "handed "+id)
		switch {
		case told && l.State != wire.Dispensed:
			r.t.Errorf("%s: %s was told to be dispensed and is %s", id, l.SKU, l.State)
		case handed && l.State == wire.Expired:
			r.t.Errorf("%s: %s was handed out and is reported never to have started", id, l.SKU)
		case id == uuid(4) && l.State != wire.Expired:
			r.t.Errorf("%s: %s was over on arrival and is %s", id, l.SKU, l.State)
		}
	}
}
