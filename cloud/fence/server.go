package fence

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Server is a Redis master, as it describes itself.
type Server struct {
	// Identity is its run id and its replication id: a start gives it another run
	// id, a promotion another replication id. So a master that nobody has met may
	// have lost what was written to the one before it.
	Identity string
	Place    string            // host:port
	Serves   func(string) bool // whether a cabinet's keys are its; nil means all are
	Evicted  int64             // keys it dropped to make room, since its start
}

// Incident is a moment from which Redis, or a part of it, was not believed.
type Incident struct {
	ID       string
	At       time.Time
	Reason   Reason
	Place    string // of the server, if it is about one
	Cabinet  string // if it is about one
	Cabinets int64  // whose stock was fenced
}

// Reason says how a loss was noticed.
type Reason string

// Reasons.
const (
	Unmet   Reason = "unmet"   // a master nobody had met: restarted, promoted, or restored
	Evicted Reason = "evicted" // a master dropped keys to make room
	Doubted Reason = "doubted" // a cabinet's stock drew a ticket twice, or took for an order that was there
)

// Meetings is the ledger's memory of Redis masters.
type Meetings interface {
	// Meet makes stale what a master serves, unless it was met before; fenced says
	// whether it did. Once it has returned nil, nothing that ran before counts any
	// more without having committed.
	Meet(ctx context.Context, s Server) (fenced bool, err error)
	// Dropped makes stale what a master serves if it has dropped more keys than it
	// was known to have.
	Dropped(ctx context.Context, s Server) (fenced bool, err error)
}

// Gate lets a connection to Redis into use only when the master behind it has
// been met. A restart ends all connections and a promotion is served by new
// ones, so no order reaches a Redis that lost writes before it is fenced.
type Gate struct {
	Ledger Meetings
	Fenced func(s Server, r Reason) // told of each fence that this process drew; may be nil

	mu  sync.Mutex
	met map[string]int64 // identity → keys dropped
}

// Enter meets a server and sees whether it dropped keys. Known servers that did
// not cost no question to the ledger.
func (g *Gate) Enter(ctx context.Context, s Server) error {
	g.mu.Lock()
	dropped, known := g.met[s.Identity]
	g.mu.Unlock()
	if !known {
		fenced, err := g.Ledger.Meet(ctx, s)
		if err != nil {
			return fmt.Errorf("fence: the ledger does not say whether Redis at %s is known: %w", s.Place, err)
		}
		g.tell(fenced, s, Unmet)
	}
	if s.Evicted > dropped {
		fenced, err := g.Ledger.Dropped(ctx, s)
		if err != nil {
			return fmt.Errorf("fence: fence what Redis at %s has dropped: %w", s.Place, err)
		}
		g.tell(fenced, s, Evicted)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.met == nil {
		g.met = map[string]int64{}
	}
	g.met[s.Identity] = max(s.Evicted, g.met[s.Identity])
	return nil
}

func (g *Gate) tell(fenced bool, s Server, r Reason) {
	if fenced && g.Fenced != nil {
		g.Fenced(s, r)
	}
}
