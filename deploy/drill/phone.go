package drill

import (
	"math/rand/v2"

	"vendline/cloud/app"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// byPhone is one shopper at a phone: orders, sometimes taps twice, sometimes
// asks again at once or about an order of a while ago, sometimes cancels.
func (l *Load) byPhone(r *rand.Rand) {
	w := l.plan.wish(r)
	key := app.NewID()
	if r.IntN(10) == 0 {
		key = "app:" + key // keys need not be UUIDs
	}
	e := l.enter(Phone, order.IDFromKey(key), key, w)
	url, body := l.cloud+"/v1/orders", phoneBody(w)
	if r.IntN(20) == 0 {
		// The second tap does not wait for the first one's answer.
		l.wg.Go(func() { l.record(e.ID, l.call.post(l.hope, url, key, body)) })
	}
	a := l.call.insist(l.hope, r, url, key, body)
	l.record(e.ID, a)
	if a.outcome != Yes {
		return
	}
	if r.IntN(10) == 0 {
		l.record(e.ID, l.call.insist(l.hope, r, url, key, body))
	}
	if r.IntN(8) == 0 {
		l.call.insist(l.hope, r, url+"/"+e.ID+"/cancel", "", nil)
	}
	if old, ok := l.book.Recent(r, 2000); ok && r.IntN(10) == 0 {
		l.record(old.ID, l.call.insist(l.hope, r, url, old.Key, phoneBody(wish{old.Cabinet, old.User, old.Lines})))
	}
}

func phoneBody(w wish) []byte {
	return encode(struct {
		Cabinet string      `json:"cabinet"`
		User    string      `json:"user"`
		Lines   []wire.Line `json:"lines"`
	}{w.cabinet, w.user, w.lines})
}
