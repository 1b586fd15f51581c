package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/fence"
	"vendline/cloud/fleet"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

var errAway = errors.New("dial tcp 10.0.0.7: connection refused")

// site is a fleet with a ledger, a stock filter and a queue whose answers a test
// sets, served by the real API.
type site struct {
	*httptest.Server
	fleet *fleet.Fleet

	mu        sync.Mutex
	cabinets  []string
	shelves   map[string][]fleet.Shelf
	orders    []order.Order
	standings map[string]string
	letters   []letter.Letter
	done      []string // what was done with them
	stuck     []outbox.Waiting
	cases     []order.Case
	notes     map[string]string
	faults    []order.SlotFault
	unacked   []planogram.Unacked
	plans     map[string]planogram.State
	live      map[string]map[string]int64
	presences []fleet.Presence
	queue     int64
	away      map[string]error // by source

	watcher *order.Watcher
	lists   atomic.Int64 // how often the list of cabinets was read
	reads   atomic.Int64 // how often shelves were
}

func start(t *testing.T, change ...func(*fleet.Options)) *site {
	t.Helper()
	s := &site{
		cabinets: []string{"C001", "C002"},
		shelves: map[string][]fleet.Shelf{
			"C001": {{SKU: "cola", Total: 20, Available: 12, Locked: 3, Sold: 5}, {SKU: "mystery", Total: 1, Available: 1}},
		},
		live:    map[string]map[string]int64{"C001": {"cola": 11}},
		away:    map[string]error{},
		notes:   map[string]string{},
		plans:   map[string]planogram.State{},
		queue:   7,
		watcher: order.NewWatcher(),
		presences: []fleet.Presence{
			{Cabinet: "C001", Status: "online", Seen: time.UnixMilli(1_790_000_000_000), Depth: 4, Skew: -time.Second, Gap: true, Agent: "1.2"},
		},
	}
	opt := fleet.Options{
		Ledger: books{s}, Desk: books{s}, Planograms: books{s}, Live: books{s}, Tap: s.watcher.Tap, Every: 5 * time.Millisecond, Beat: time.Hour,
		Presences: func() []fleet.Presence {
			s.mu.Lock()
			defer s.mu.Unlock()
			return append([]fleet.Presence(nil), s.presences...)
		},
		Depth: func(context.Context) (int64, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.queue, s.away["queue"]
		},
		Rebuild: func(context.Context, string) error { return nil },
	}
	for _, c := range change {
		c(&opt)
	}
	var err error
	s.fleet, err = fleet.New(opt)
	check(t, err)
	host, err := api.NewServer(api.Options{Orders: (*order.Service)(nil), Truth: nobody{}, Catalogue: nobody{}, ID: func() string { return "r1" }})
	check(t, err)
	s.fleet.Mount(host)
	s.Server = httptest.NewServer(host)
	t.Cleanup(func() {
		s.fleet.Close()
		s.Close()
	})
	return s
}

// set changes what the sources answer.
func (s *site) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// books plays the ledger and the stock filter.
type books struct{ *site }

func (b books) Cabinets(context.Context) ([]string, error) {
	b.lists.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cabinets, b.away["ledger"]
}

func (b books) Shelves(_ context.Context, c string) ([]fleet.Shelf, error) {
	b.reads.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shelves[c], b.away["ledger"]
}

func (b books) Recent(_ context.Context, c string, n int) (out []order.Order, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if o.Cabinet == c && len(out) < n {
			out = append(out, o)
		}
	}
	return out, b.away["ledger"]
}

func (b books) Search(_ context.Context, cabinet, user string, status order.Status, n int) (out []order.Order, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if (cabinet == "" || o.Cabinet == cabinet) && (user == "" || o.User == user) && (status == "" || o.Status == status) && len(out) < n {
			out = append(out, o)
		}
	}
	return out, b.away["ledger"]
}

func (b books) OrdersByID(_ context.Context, ids ...string) (out []order.Order, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if slices.Contains(ids, o.ID) {
			out = append(out, o)
		}
	}
	return out, b.away["ledger"]
}

func (b books) Standings(context.Context, ...string) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.standings), b.away["ledger"]
}

func (b books) Cases(_ context.Context, closed bool, n int) (out []order.Case, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.cases {
		if c.Closed == closed && len(out) < n {
			out = append(out, c)
		}
	}
	return out, b.away["desk"]
}

func (b books) CountCases(context.Context) (n int64, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.cases {
		if !c.Closed {
			n++
		}
	}
	return n, b.away["desk"]
}

func (b books) CloseCase(_ context.Context, id, note string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[id] = note
	return b.away["desk"]
}

func (b books) SlotFaults(context.Context) ([]order.SlotFault, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults, b.away["desk"]
}

func (b books) UnackedPlanograms(_ context.Context, n int) ([]planogram.Unacked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unacked[:min(n, len(b.unacked))], b.away["desk"]
}

func (b books) CountUnackedPlanograms(context.Context) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.unacked)), b.away["desk"]
}

func (b books) Products(context.Context) ([]order.Product, error) {
	return []order.Product{{SKU: "cola", Name: "Cola <b>"}}, nil
}

func (b books) Backlog(context.Context) ([]outbox.Stat, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []outbox.Stat{{Kind: outbox.KindStock, Depth: 2, Oldest: 1500 * time.Millisecond}, {Kind: outbox.KindRedis}}, b.away["ledger"]
}

func (b books) FindLetters(_ context.Context, f letter.Filter) (letter.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return letter.Page{Letters: b.letters[:min(f.Limit, len(b.letters))]}, b.away["ledger"]
}

func (b books) CountFound(ctx context.Context, _ letter.Filter) (int64, error) {
	return b.CountLetters(ctx)
}

func (b books) Letter(_ context.Context, id string) (letter.Letter, []letter.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.letters {
		if l.ID == id {
			return l, []letter.Event{{At: time.UnixMilli(1), Who: "vend-cloud", What: "buried", Note: l.Reason}}, b.away["ledger"]
		}
	}
	return letter.Letter{}, nil, &order.Refusal{Code: wire.CodeNotFound, Detail: "no dead letter has this id"}
}

// Redrive can do all but mqtt letters, and remembers what it did.
func (b books) Redrive(ctx context.Context, who, id string, dry bool) (letter.Outcome, error) {
	return b.do(ctx, "redrive by "+who, id, dry)
}

func (b books) Discard(ctx context.Context, who, note, id string, dry bool) (letter.Outcome, error) {
	return b.do(ctx, "discard by "+who+": "+note, id, dry)
}

func (b books) do(ctx context.Context, what, id string, dry bool) (letter.Outcome, error) {
	l, _, err := b.Letter(ctx, id)
	if err != nil {
		return letter.Outcome{}, err
	}
	o := letter.Outcome{ID: id, Source: l.Source}
	if l.Source == letter.MQTT {
		o.Refuse = "it is still unreadable"
		return o, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Action, o.Done = "sent", !dry; o.Done {
		b.done = append(b.done, id+" "+what)
	}
	return o, nil
}

func (b books) StuckRows(context.Context, int) ([]outbox.Waiting, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stuck, b.away["ledger"]
}

func (b books) CountLetters(context.Context) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.letters)), b.away["ledger"]
}

func (b books) SellableMany(_ context.Context, ids []string) (map[string]map[string]int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]map[string]int64{}
	for _, id := range ids {
		if units, ok := b.live[id]; ok {
			out[id] = units
		}
	}
	return out, b.away["stock"]
}

// nobody stands for the parts of the API that these tests do not touch.
type nobody struct{}

func (nobody) Available(context.Context, string) (map[string]int64, error) { return nil, errAway }
func (nobody) Product(context.Context, string, string) (order.Offer, bool, error) {
	return order.Offer{}, false, errAway
}
func (nobody) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, errAway
}

// event is one server-sent event.
type event struct {
	name string
	body snapshot
}

// snapshot is what pages are told; a pointer or a slice that is nil was not sent.
type snapshot struct {
	At       int64
	IDs      []string `json:"ids"`
	Cabinets []cabinet
	Orders   []struct {
		ID, Cabinet, Status string
		Version, Amount     int64
		Payment             *string
		Lines               []struct {
			SKU, State string
			Dropped    int
		}
	}
	Pipeline *pipeline
	Desk     *desk
	Away     []string
}

type cabinet struct {
	ID, Health, Agent string
	Seen, Depth       *int64
	SkewMS            *int64 `json:"skew_ms"`
	Gap               bool
	Stock             []struct {
		SKU, Name                      string
		Sellable                       *int64
		Available, Locked, Sold, Total int64
	}
	Suspended []struct {
		Slot, SKU, Fault string
		Since            int64
	}
}

type desk struct {
	Open    *int64 `json:"open_cases"`
	Cases   []deskCase
	Unacked *int64 `json:"unacked_planograms"`
	Waiting []struct {
		Cabinet               string
		Version, Since, Acked int64
	} `json:"planograms"`
}

type deskCase struct {
	ID, Kind, Subject, Order, Cabinet, Detail, Note string
	Created                                         int64
	Closed                                          *int64
}

type pipeline struct {
	Outbox []struct {
		Kind     string
		Depth    int64
		OldestMS int64 `json:"oldest_ms"`
	}
	Queue   *int64
	Letters *int64   `json:"dead_letters"`
	Rate    *float64 `json:"orders_per_second"`
	Away    []string
}

// reader is an open stream.
type reader struct {
	res   *http.Response
	lines *bufio.Scanner
	close context.CancelFunc
}

func (s *site) watch(t *testing.T) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/fleet/events", nil)
	check(t, err)
	res, err := s.Client().Do(req)
	check(t, err)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("HTTP %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	r := &reader{res: res, lines: bufio.NewScanner(res.Body), close: func() {
		cancel()
		_ = res.Body.Close()
	}}
	r.lines.Buffer(nil, 1<<20)
	t.Cleanup(r.close)
	return r
}

// next reads one event; ok is false when the stream has ended.
func (r *reader) next(t *testing.T) (e event, ok bool) {
	t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		if name, is := strings.CutPrefix(line, "event: "); is {
			e.name = name
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			check(t, json.Unmarshal([]byte(data), &e.body))
			return e, true
		}
	}
	return e, false
}

// until reads events until one satisfies is.
func (r *reader) until(t *testing.T, is func(event) bool) event {
	t.Helper()
	for {
		e, ok := r.next(t)
		if !ok {
			t.Fatal("the stream ended")
		}
		if is(e) {
			return e
		}
	}
}

func (s *site) get(t *testing.T, path string, v any) int {
	t.Helper()
	res, err := s.Client().Get(s.URL + path)
	check(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	check(t, err)
	check(t, json.Unmarshal(b, v))
	return res.StatusCode
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b books) Incidents(context.Context, time.Time, int) ([]fence.Incident, error) {
	return []fence.Incident{{ID: "i1", At: time.UnixMilli(1_790_000_000_000), Reason: fence.Unmet, Place: "redis:6379", Cabinets: 2}}, nil
}

func (b books) RetryRefund(_ context.Context, id string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[id] = "tried again"
	return id == caseID, b.away["desk"]
}
