package fallback

import (
	"hash/fnv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Bounds of the slow way, for one process.
const (
	DefaultRate = 200 // orders a second
	DefaultEach = 4   // orders at once at one cabinet: the others would only wait for its row
	most        = 64  // orders at once at all of them
)

// bounds let a few in and send the rest away: nobody queues.
type bounds struct {
	rate *rate.Limiter
	each int

	mu sync.Mutex
	at map[string]int // cabinet → orders under way
	n  int            // … at all of them
}

func newBounds(perSecond float64, each int) *bounds {
	if perSecond <= 0 {
		perSecond = DefaultRate
	}
	if each <= 0 {
		each = DefaultEach
	}
	return &bounds{rate: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/4))), each: each, at: map[string]int{}}
}

// enter returns how to leave, or a refusal that says when to come again.
func (b *bounds) enter(o order.Order) (leave func(), no *order.Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n >= most || b.at[o.Cabinet] >= b.each || !b.rate.Allow() {
		return nil, &order.Refusal{Code: wire.CodeOverloaded, RetryAfter: later(o.ID),
			Detail: "the stock filter is away, and the ledger takes only so many orders without it; ask again under the same id or key"}
	}
	b.at[o.Cabinet]++
	b.n++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.n--
		if b.at[o.Cabinet]--; b.at[o.Cabinet] == 0 {
			delete(b.at, o.Cabinet)
		}
	}, nil
}

// later spreads those who are sent away over the next seconds, by their id: they
// shall not all be back in the same one.
func later(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return time.Duration(1+h.Sum32()%4) * time.Second
}
