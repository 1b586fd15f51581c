package drill

import (
	"context"
	"time"
)

// Fault is one way to hurt a site. Strike returns when the part that was hurt
// answers again, or cannot be made to.
type Fault struct {
	Name   string
	Strike func(ctx context.Context, s *Site, down time.Duration) error

	// Forgets says that Redis may lose what it had acknowledged. A placement that
	// was under way right then may be promised what is not there; step 8's guard
	// takes it back before anybody pays for it.
	Forgets bool

	// Away says that Redis may seem to be away. Orders then go by the ledger,
	// under a new generation.
	Away bool

	// Asked says that vend-cloud runs and can be reached meanwhile: it must answer.
	Asked bool
}

// Scope says which faults strike in a cycle.
type Scope struct {
	Cycle    int  // from 0
	Costly   bool // those that take long, too: frozen processes, full disks, wrong clocks
	AllLinks bool // every link is bad in every way; else each in one way a cycle
}

// Faults are those of a cycle, in the order they strike.
func Faults(scope Scope) []Fault {
	all := toxicFaults(scope.AllLinks, scope.Cycle)
	if scope.Costly {
		all = append(all, pauseFaults()...)
		all = append(all, diskFaults()...)
		all = append(all, jumpFaults()...)
	}
	return append(all, killFaults()...)
}
