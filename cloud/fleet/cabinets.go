package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"vendline/cloud/order"
)

// cabinetView is a cabinet as pages see it. Null is unknown.
type cabinetView struct {
	ID     string      `json:"id"`
	Health string      `json:"health"` // online, late, offline, or unknown: never heard of
	Seen   *int64      `json:"seen"`   // last sign of life, Unix ms by the cloud's clock
	Depth  *int64      `json:"depth"`
	Parked *int64      `json:"parked"`
	SkewMS *int64      `json:"skew_ms"`
	Skewed bool        `json:"skewed"`
	Gap    bool        `json:"gap"`
	Agent  string      `json:"agent"`
	Stock  []stockView `json:"stock"` // null: not read yet

	Suspended []slotView `json:"suspended"` // slots that are out of order; null: not read yet
}

type stockView struct {
	SKU       string `json:"sku"`
	Name      string `json:"name"`
	Sellable  *int64 `json:"sellable"`
	Available int64  `json:"available"`
	Locked    int64  `json:"locked"`
	Sold      int64  `json:"sold"`
	Total     int64  `json:"total"`
}

// viewOf puts together what the three sources say of a cabinet. Presence p is
// nil when nothing was ever heard; live is nil when the filter does not know.
func viewOf(id string, p *Presence, shelves []Shelf, live map[string]int64, suspended []slotView, names map[string]string) cabinetView {
	v := cabinetView{ID: id, Health: "unknown", Suspended: suspended}
	if p != nil {
		v.Health, v.Gap, v.Agent, v.Skewed = p.Status, p.Gap, p.Agent, p.Skewed
		if !p.Seen.IsZero() {
			v.Seen, v.Depth, v.Parked, v.SkewMS = ref(p.Seen.UnixMilli()), ref(p.Depth), ref(p.Parked), ref(p.Skew.Milliseconds())
		}
	}
	if shelves == nil {
		return v
	}
	v.Stock = make([]stockView, len(shelves))
	for i, s := range shelves {
		v.Stock[i] = stockView{SKU: s.SKU, Name: names[s.SKU], Available: s.Available, Locked: s.Locked, Sold: s.Sold, Total: s.Total}
		if v.Stock[i].Name == "" {
			v.Stock[i].Name = s.SKU
		}
		if n, ok := live[s.SKU]; ok {
			v.Stock[i].Sellable = ref(n)
		}
	}
	return v
}

func ref[T any](v T) *T { return &v }

// state is what the sampler keeps and the streams send. Everything carries the
// number of the sample that changed it last, so that a stream sends only news.
type state struct {
	mu       sync.Mutex
	sample   int64
	at       time.Time // of the sample
	cabinets map[string]*kept
	order    []string // ids, sorted
	listed   int64    // sample that changed the list of ids
	recent   recent
	pipeline changed
	desk     changed
	faults   map[string][]slotView // slots that are out of order, by cabinet; nil: not read yet
	away     changed               // names of the sources that did not answer
	names    map[string]string     // SKU → product name
}

// kept is one cabinet.
type kept struct {
	changed
	shelves []Shelf
	live    map[string]int64
	read    time.Time // when its shelves were read; zero if not in this stretch of watching
	listed  time.Time // when its orders were
	wants   bool      // an order of it was seen since
	stale   bool      // something was read since it was rendered
	shown   Presence  // what it was rendered with
	faults  []slotView
}

// suspendedAt is nil only when nobody knows.
func suspendedAt(all map[string][]slotView, cabinet string) []slotView {
	if s := all[cabinet]; all == nil || s != nil {
		return s
	}
	return []slotView{}
}

// render makes a cabinet what streams send, if anything about it changed. A beat
// that says nothing new is no change until calm has passed since the one shown.
func (k *kept) render(id string, p *Presence, faults []slotView, names map[string]string, sample int64, calm time.Duration) {
	now := Presence{}
	if p != nil {
		now = *p
	}
	same := now
	if d := now.Seen.Sub(k.shown.Seen); d >= 0 && d < calm {
		same.Seen, same.Skew = k.shown.Seen, k.shown.Skew
	}
	if k.body != nil && !k.stale && k.shown == same && (k.faults == nil) == (faults == nil) && slices.Equal(k.faults, faults) {
		return
	}
	k.set(viewOf(id, p, k.shelves, k.live, faults, names), sample)
	k.shown, k.faults, k.stale = now, faults, false
}

// changed is a rendered part and when it changed.
type changed struct {
	body   []byte
	sample int64
}

// set keeps v if it differs from what is kept.
func (c *changed) set(v any, sample int64) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a view that JSON cannot hold: a bug of this package
	}
	if !bytes.Equal(body, c.body) {
		c.body, c.sample = body, sample
	}
}

func (s *state) init() {
	s.cabinets = map[string]*kept{}
	s.names = map[string]string{}
}

// begin makes every cabinet due: nobody has looked for a while.
func (s *state) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.cabinets {
		k.read, k.listed = time.Time{}, time.Time{}
	}
}

// saw takes an order from the tap: it becomes a row of the list, and its cabinet
// is read again soon.
func (s *state) saw(o order.Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent.add(o)
	if k := s.cabinets[o.Cabinet]; k != nil {
		k.wants = true
	}
}
