package order

import (
	"context"
	"time"
)

// Sessions notes which orders somebody waits for: whether a shopper whose money
// comes late is still there to take his goods.
type Sessions interface {
	// Seen may be called often; most calls cost nothing.
	Seen(ctx context.Context, id string) error
}

// seenTimeout bounds what a note may cost a shopper's wait.
const seenTimeout = time.Second

// seen notes that somebody waits for an order. A note that is lost is made up
// for by the next.
func (s *Service) seen(ctx context.Context, id string) {
	if s.Sessions == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seenTimeout)
	defer cancel()
	if err := s.Sessions.Seen(ctx, id); err != nil {
		s.Log.Debug("a shopper's wait was not noted", "order", id, "error", err)
	}
}
