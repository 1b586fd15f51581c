package ledger

import "sync/atomic"

// Counters count what this process did, since its start.
type Counters struct {
	OrderCommits  atomic.Int64 // transactions that placed orders
	Orders        atomic.Int64 // orders placed by them
	StockCommits  atomic.Int64 // transactions that moved stock
	StockUpdates  atomic.Int64 // UPDATE statements on stock rows
	Statements    atomic.Int64 // statements step 8 has taken in
	Transitions   atomic.Int64
	Conflicts     atomic.Int64 // transactions run again: deadlock, lock wait, lost connection
	Shortages     atomic.Int64 // physical shortages settled
	DeadLetters   atomic.Int64
	OrphansClosed atomic.Int64
}

// Counters returns the live counters.
func (l *Ledger) Counters() *Counters { return &l.counters }
