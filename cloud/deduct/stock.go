package deduct

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/lua"
	"vendline/shared/group"
)

// ErrMoved says that a cabinet's stock changed under a call that needed it to
// stand still: a repair, a snapshot, or a load that another one overtook.
var ErrMoved = errors.New("deduct: the stock has changed meanwhile")

// ErrLoaded says that a generation is loaded already. A generation is loaded
// once: its tickets must not start again.
var ErrLoaded = errors.New("deduct: this generation is loaded already")

// Options of a Stock; the zero value is what production uses.
type Options struct {
	MarkTTL  time.Duration    // how long a marker lives; 0 means 90,000 s, above the 24 h of ordinary replays
	Pipeline int              // most baskets in one pipeline; 0 means 128
	InFlight int              // pipelines of baskets under way at once; 0 means 2
	Now      func() time.Time // nil means time.Now
	Token    func() string    // names one load, never twice the same; nil means random
	Scripts  *lua.Scripts     // nil means the embedded ones
}

// Stock is the stock of all cabinets in Redis. Safe for concurrent use.
type Stock struct {
	rdb     redis.UniversalClient
	opt     Options
	lua     lua.Scripts
	ttl     int64 // seconds a marker lives
	baskets []*group.Group[taking]
}

var (
	_ order.Stock = (*Stock)(nil)
	_ fence.Stock = (*Stock)(nil)
)

// New starts a Stock on a client, which stays the caller's to close. Open
// makes clients with the settings that the promises here need.
func New(rdb redis.UniversalClient, opt Options) *Stock {
	if opt.MarkTTL <= 0 {
		opt.MarkTTL = 90_000 * time.Second
	}
	if opt.Pipeline <= 0 {
		opt.Pipeline = 128
	}
	if opt.InFlight <= 0 {
		opt.InFlight = 2
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Token == nil {
		opt.Token = rand.Text
	}
	s := &Stock{rdb: rdb, opt: opt, ttl: max(1, int64(opt.MarkTTL/time.Second))}
	if opt.Scripts != nil {
		s.lua = *opt.Scripts
	} else {
		s.lua = lua.Embedded()
	}
	for range lanes(rdb) {
		s.baskets = append(s.baskets, group.New(group.Options{Max: opt.Pipeline, Workers: opt.InFlight}, s.take))
	}
	return s
}

// Close carries out the baskets already handed in and refuses later ones.
func (s *Stock) Close() {
	for _, g := range s.baskets {
		g.Close()
	}
}

// clusterLanes share the slots of a cluster evenly.
const clusterLanes = 16

// lanes is how many pipelines stand beside one another. On a cluster the slots
// are shared among some, so that baskets for a master that hangs hold up few of
// those for others.
func lanes(rdb redis.UniversalClient) int {
	if _, ok := rdb.(*redis.ClusterClient); ok {
		return clusterLanes
	}
	return 1
}

// lane is the pipeline that a cabinet's baskets share.
func (s *Stock) lane(cabinet string) *group.Group[taking] {
	if len(s.baskets) == 1 {
		return s.baskets[0]
	}
	return s.baskets[lua.Slot(cabinet)*len(s.baskets)/16384]
}

// Ping reports whether Redis answers.
func (s *Stock) Ping(ctx context.Context) error {
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("deduct: ping: %w", err)
	}
	return nil
}
