package drill

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// toxic is one way for a link to be bad.
type toxic struct {
	name   string
	kind   string
	attrs  string
	fired  func(h heard) bool // what a connection of its own saw proves it
	window func(s *Site) time.Duration
}

// Sizes of toxics: what a bad mobile network does, not a dead one.
const (
	sliceMost  = 64 // bytes
	sliceDelay = time.Millisecond
	slowRate   = 24 // KB/s
)

func toxics() []toxic {
	slow := func(s *Site) time.Duration { return s.Times.Slow }
	return []toxic{
		{"150 ± 100 ms late", "latency", `{"latency":150,"jitter":100}`, func(h heard) bool {
			return h.bytes > 0 && h.first >= 100*time.Millisecond // 50 there, 50 back
		}, slow},
		{"reset", "reset_peer", `{"timeout":0}`, func(h heard) bool { return h.bytes == 0 && h.err != nil && !h.timedOut() }, slow},
		{"in slices", "slicer", fmt.Sprintf(`{"average_size":48,"size_variation":16,"delay":%d}`, sliceDelay.Microseconds()), func(h heard) bool {
			return h.bytes > sliceMost && h.last-h.first >= time.Duration((h.bytes-1)/sliceMost)*sliceDelay
		}, slow},
		{"24 KB/s", "bandwidth", fmt.Sprintf(`{"rate":%d}`, slowRate), func(h heard) bool {
			return h.bytes > 0 && h.last >= time.Duration(h.bytes)*time.Second/(slowRate*1024)
		}, slow},
		{"cut, half open", "timeout", `{"timeout":0}`, func(h heard) bool { return h.bytes == 0 && h.timedOut() }, func(s *Site) time.Duration { return s.Times.Cut }},
	}
}

// poison puts a toxic into a link, both ways, for a while.
func (l *Link) poison(ctx context.Context, x toxic, d time.Duration) error {
	over := time.After(d)
	for _, way := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s}`, way, x.kind, way, x.attrs)
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			return fmt.Errorf("drill: put %s into %s: %w", x.kind, l.Name, err)
		}
	}
	seen := l.seen(ctx, x)
	select {
	case <-over:
	case <-ctx.Done():
	}
	l.proxy.Toxics.ResetToxics(ctx)
	return seen
}

// seen makes sure that a toxic does what it says.
func (l *Link) seen(ctx context.Context, x toxic) error {
	var h heard
	for range 5 {
		if h = hear(ctx, l.proxy.Listen, l.hello, time.Second); x.fired(h) {
			return nil
		}
	}
	return fmt.Errorf("drill: %s is in %s and does nothing: %d bytes, first after %s, last after %s, %v", x.kind, l.Name, h.bytes, h.first, h.last, h.err)
}

// toxicFaults makes every link bad in every way; or, if not all, each in one
// way, another in each cycle.
func toxicFaults(all bool, cycle int) []Fault {
	var faults []Fault
	for n, name := range linkNames() {
		for i, x := range toxics() {
			if all || i == (n+cycle)%len(toxics()) {
				faults = append(faults, Fault{
					Name: name + " " + x.name, Away: name == linkStock, Asked: name != linkPhone,
					Strike: func(ctx context.Context, s *Site, _ time.Duration) error {
						return s.links.all[name].poison(ctx, x, x.window(s))
					},
				})
			}
		}
	}
	return faults
}
