package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"vendline/shared/wire"
)

// Peak is when, each day, cabinets are loaded before they are needed.
type Peak struct {
	Hour, Minute int
	Group        string // empty is all
}

func (p Peak) String() string {
	at := fmt.Sprintf("%02d:%02d", p.Hour, p.Minute)
	if p.Group == "" {
		return at
	}
	return at + "=" + p.Group
}

// ParsePeaks reads "07:30; 11:45=north": times of day, each of all cabinets or of
// a group.
func ParsePeaks(text string) (peaks []Peak, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	seen := map[Peak]bool{}
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		at, group, grouped := strings.Cut(part, "=")
		at, group = strings.TrimSpace(at), strings.TrimSpace(group)
		t, err := time.Parse("15:04", at)
		switch {
		case part == "":
			return nil, fmt.Errorf("warm-up times %q: there is nothing beside a ';'", text)
		case err != nil:
			return nil, fmt.Errorf("warm-up times %q: %q is no time of day; write it as 07:30", text, at)
		case grouped && !wire.ValidCabinet(group):
			return nil, fmt.Errorf("warm-up times %q: %q cannot be a group; it has 1 to 32 letters, digits, '_' or '-'", text, group)
		}
		p := Peak{t.Hour(), t.Minute(), group}
		if seen[p] {
			return nil, fmt.Errorf("warm-up times %q: %s is there twice", text, p)
		}
		seen[p] = true
		peaks = append(peaks, p)
	}
	return peaks, nil
}

// Next is the first moment after now that a clock in zone shows the peak's time.
// A time that a day leaves out, since clocks are put forward, is as much later.
func (p Peak) Next(now time.Time, zone *time.Location) time.Time {
	y, m, d := now.In(zone).Date()
	for ; ; d++ {
		if at := time.Date(y, m, d, p.Hour, p.Minute, 0, 0, zone); at.After(now) {
			return at
		}
	}
}

// warmupLate is how late a warm-up may still begin.
const warmupLate = 10 * time.Minute

// startWarmup loads cabinets at their times, once per fleet: of the processes
// that play the role, one takes the job. Dies while it loads: what is left is
// loaded when it is touched, as without a warm-up.
func (a *App) startWarmup(context.Context) error {
	peaks, err := ParsePeaks(a.Config.WarmupAt)
	if err != nil {
		return err
	}
	zone, err := a.Config.warmupZone()
	if err != nil || len(peaks) == 0 || a.Stock == nil || !a.Config.has(RoleReconcile) {
		return err
	}
	for _, p := range peaks {
		a.start(func(ctx context.Context) { a.peak(ctx, p, zone) })
	}
	return nil
}

func (a *App) peak(ctx context.Context, p Peak, zone *time.Location) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for at := p.Next(a.Deps.Clock(), zone); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if a.Deps.Clock().Before(at) {
			continue
		}
		due := at
		if at = p.Next(a.Deps.Clock(), zone); a.Deps.Clock().Sub(due) > warmupLate {
			a.Deps.Log.Warn("a warm-up is left out: its time is long past", "at", due)
			continue
		}
		if err := a.WarmPeak(ctx, p, due); err != nil && ctx.Err() == nil {
			a.Deps.Log.Warn("no warm-up; cabinets are loaded as they are touched", "peak", p, "error", err)
		}
	}
}

// WarmReport is what a warm-up came to.
type WarmReport struct {
	Due    time.Time `json:"due"`
	Loaded int       `json:"loaded"`
	Failed int       `json:"failed"`
	TookMS int64     `json:"took_ms"`
}

// WarmPeak is a peak's warm-up of one day, unless another process has it. Each
// has a job of its own, so that none is done twice however long it takes.
func (a *App) WarmPeak(ctx context.Context, p Peak, due time.Time) error {
	job := "warmup " + p.String()
	mine, err := a.Ledger.TakeJob(ctx, job, due.Add(2*warmupLate))
	if err != nil || !mine {
		return err
	}
	var ids []string
	if p.Group == "" {
		ids, err = a.Ledger.Cabinets(ctx)
	} else {
		ids, err = a.Ledger.GroupCabinets(ctx, p.Group)
	}
	if err != nil {
		return err
	}
	r, began := WarmReport{Due: due}, a.Deps.Clock()
	var mu sync.Mutex
	next := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for id := range next {
				err := a.Fence.Rebuild(ctx, id)
				mu.Lock()
				if err == nil {
					r.Loaded++
				} else if r.Failed++; r.Failed == 1 {
					a.Deps.Log.Warn("a cabinet cannot be warmed up", "cabinet", id, "error", err)
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		next <- id
	}
	close(next)
	workers.Wait()
	r.TookMS = a.Deps.Clock().Sub(began).Milliseconds()
	a.Deps.Log.Info("warmed up", "peak", p, "cabinets", len(ids), "loaded", r.Loaded, "failed", r.Failed, "took_ms", r.TookMS)
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.Ledger.EndJob(ctx, job, body)
}

func (c Config) warmupZone() (*time.Location, error) {
	if c.WarmupZone == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(c.WarmupZone)
	if err != nil {
		return nil, fmt.Errorf("warm-up zone %q is not known; write it as Asia/Shanghai: %w", c.WarmupZone, err)
	}
	return zone, nil
}
