package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"vendline/shared/group"
)

// seenEvery is how often one process writes down that an order's shopper is
// there: far more rarely than he asks.
const seenEvery = 10 * time.Second

// sessions remembers what was written lately, so that a thousand looks at an
// order are one row every ten seconds, and shares commits between orders.
type sessions struct {
	mu    sync.Mutex
	last  map[string]int64 // order → Unix ms of the last write
	group *group.Group[string]
}

// due reports whether id is to be written now, and takes it that it is.
func (s *sessions) due(id string, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.last[id] < seenEvery.Milliseconds() {
		return false
	}
	if len(s.last) >= 10_000 {
		for k, at := range s.last {
			if now-at >= seenEvery.Milliseconds() {
				delete(s.last, k)
			}
		}
	}
	s.last[id] = now
	return true
}

// Seen notes that somebody waits for an order. It is a hint: one that is lost
// costs a late payer his goods, never his money.
func (l *Ledger) Seen(ctx context.Context, id string) error {
	if !l.sessions.due(id, l.now()) {
		return nil
	}
	if err := l.sessions.group.Do(ctx, &id); err != nil {
		return fmt.Errorf("ledger: note that an order was seen: %w", err)
	}
	return nil
}

func (l *Ledger) seeGroup(ctx context.Context, ids []*string) []error {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = *id
	}
	slices.Sort(all) // a fixed order of locks
	now := l.now()
	args := make([]any, 0, 2*len(all))
	for _, id := range slices.Compact(all) {
		args = append(args, id, now)
	}
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		return insertRows(ctx, tx, "INSERT INTO order_session (order_sn, seen_at)", 2, args, l.dialect.upsertSeen)
	})
	if err == nil {
		return nil
	}
	errs := make([]error, len(ids))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// Live reports whether somebody waited for an order within d, in any process.
func (l *Ledger) Live(ctx context.Context, id string, d time.Duration) (bool, error) {
	var at sql.NullInt64
	if err := l.read.QueryRowContext(ctx, "SELECT MAX(seen_at) FROM order_session WHERE order_sn = ?", id).Scan(&at); err != nil {
		return false, fmt.Errorf("ledger: read an order's session: %w", err)
	}
	return at.Valid && l.now()-at.Int64 <= d.Milliseconds(), nil
}
