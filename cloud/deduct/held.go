package deduct

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/orphan"
)

// Reserved is a hold that the ledger's deduct log is not known to have.
type Reserved struct {
	Version int64
	At      int64 // when it was taken, Unix ms by the service's clock
}

// Held lists the holds that were taken longer than olderThan ago and that the
// deduct log is not known to have, oldest first. One whose marker has expired
// is left out: only a rebuild or reconciliation can tell what it took. Error:
// order.ErrNotLoaded.
func (s *Stock) Held(ctx context.Context, cabinet string, olderThan time.Duration) ([]orphan.Hold, error) {
	v, err := s.view(ctx, cabinet)
	if err != nil {
		return nil, fmt.Errorf("held of %s: %w", cabinet, err)
	}
	before := s.opt.Now().Add(-olderThan).UnixMilli()
	var ids []string
	for id, r := range v.Reserved {
		if r.At <= before {
			ids = append(ids, id)
		}
	}
	answers, err := s.marks(ctx, cabinet, ids)
	if err != nil {
		return nil, fmt.Errorf("held of %s: %w", cabinet, err)
	}
	var holds []orphan.Hold
	for _, a := range answers {
		for id, m := range a.marks {
			holds = append(holds, orphan.Hold{
				ID: id, Cabinet: cabinet, Held: m.State == Held, Version: m.Version,
				Run: order.Run{Generation: a.generation, Ticket: m.Ticket}, User: m.User, Lines: m.Lines,
				At: v.Reserved[id].At,
			})
		}
	}
	slices.SortFunc(holds, func(a, b orphan.Hold) int {
		if a.At != b.At {
			return int(min(1, max(-1, a.At-b.At)))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return holds, nil
}

// waitingChunk is how many cabinets one pipeline of Waiting asks.
const waitingChunk = 200

// Waiting names the cabinets that Held has something to say about, in their
// order. One that is not loaded has nothing.
func (s *Stock) Waiting(ctx context.Context, cabinets []string, olderThan time.Duration) (out []string, err error) {
	before := s.opt.Now().Add(-olderThan).UnixMilli()
	for some := range slices.Chunk(cabinets, waitingChunk) {
		views, err := s.snapshots(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			for _, r := range views[c].Reserved {
				if r.At <= before {
					out = append(out, c)
					break
				}
			}
		}
	}
	return out, nil
}

func reserved(text string) Reserved {
	version, at, _ := strings.Cut(text, ":")
	var r Reserved
	r.Version, _ = strconv.ParseInt(version, 10, 64)
	r.At, _ = strconv.ParseInt(at, 10, 64)
	return r
}
