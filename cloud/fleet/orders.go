package fleet

import (
	"context"
	"net/http"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// orderQuery is what GET /v1/fleet/orders is asked for; empty is any.
type orderQuery struct {
	cabinet, user string
	status        order.Status
	limit         int
}

func orderQueryOf(r *http.Request) (q orderQuery, err error) {
	v := r.URL.Query()
	q = orderQuery{cabinet: v.Get("cabinet"), user: v.Get("user"), status: order.Status(v.Get("status"))}
	if q.limit, err = limitOf(r); err != nil {
		return q, err
	}
	switch {
	case v.Has("cabinet") && !wire.ValidCabinet(q.cabinet):
		return q, &wire.FieldError{Path: "cabinet", Problem: "must name a cabinet, as in ?cabinet=C001"}
	case v.Has("user") && !wire.ValidUser(q.user):
		return q, &wire.FieldError{Path: "user", Problem: "must name a shopper, as in ?user=u1"}
	case v.Has("status") && q.status != order.Init && q.status != order.PreReserved && q.status != order.Consumed && q.status != order.RolledBack:
		return q, &wire.FieldError{Path: "status", Problem: "must be INIT, PRE_RESERVED, CONSUMED or ROLLBACKED"}
	}
	return q, nil
}

// readOrders answers GET /v1/fleet/orders?cabinet=C001&user=u1&status=CONSUMED&limit=50:
// orders, newest first.
func (f *Fleet) readOrders(w http.ResponseWriter, r *http.Request) {
	q, err := orderQueryOf(r)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	list, err := f.opt.Ledger.Search(r.Context(), q.cabinet, q.user, q.status, q.limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ids := make([]string, len(list))
	for i, o := range list {
		ids[i] = o.ID
	}
	standings, err := f.opt.Ledger.Standings(r.Context(), ids...)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	views := make([]orderView, len(list))
	for i, o := range list {
		views[i] = orderOf(o, ref(standings[o.ID]))
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "orders": views})
}

// reread reads the orders on the page once more: what becomes of their lines and
// their money changes no version, and may come about in another process.
func (s *sampler) reread(ctx context.Context) {
	ids := s.state.shown()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	// Standings first: what an order says after that is never older than its money.
	standings, err := s.opt.Ledger.Standings(ctx, ids...)
	var list []order.Order
	if err == nil {
		list, err = s.opt.Ledger.OrdersByID(ctx, ids...)
	}
	s.note(sourceLedger, err)
	if err != nil {
		return
	}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	for _, o := range list {
		s.state.recent.read(o, standings[o.ID])
	}
}

// shown are the ids of the orders on the page.
func (s *state) shown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, len(s.recent.list))
	for i, o := range s.recent.list {
		ids[i] = o.ID
	}
	return ids
}
