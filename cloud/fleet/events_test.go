package fleet_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vendline/cloud/fleet"
	"vendline/cloud/order"
)

func TestAStreamBeginsWithEverything(t *testing.T) {
	s := start(t)
	r := s.watch(t)
	e := r.until(t, func(e event) bool { return e.name == "fleet" })
	b := e.body
	if !slices.Equal(b.IDs, []string{"C001", "C002"}) || len(b.Cabinets) != 2 || b.Pipeline == nil || b.Orders == nil || b.Away == nil || b.At == 0 {
		t.Fatalf("%+v", b)
	}
	c := b.Cabinets[0]
	if c.Health != "online" || *c.Seen != 1_790_000_000_000 || *c.Depth != 4 || *c.SkewMS != -1000 || !c.Gap || c.Agent != "1.2" {
		t.Errorf("%+v", c)
	}
	if cola := c.Stock[0]; cola.Name != "Cola <b>" || *cola.Sellable != 11 || cola.Available != 12 || cola.Locked != 3 || cola.Sold != 5 || cola.Total != 20 {
		t.Errorf("%+v", cola)
	}
}

// apache/rocketmq-dashboard#4361: a lag that nobody knows was shown as 0.
func TestWhatIsNotKnownIsNullAndNeverZero(t *testing.T) {
	s := start(t)
	s.set(func() { s.away["queue"] = errAway })
	r := s.watch(t)
	b := r.until(t, func(e event) bool { return e.body.Pipeline != nil }).body
	if b.Pipeline.Queue != nil || !slices.Equal(b.Away, []string{"queue"}) || *b.Pipeline.Letters != 0 || b.Pipeline.Outbox[0].Depth != 2 {
		t.Errorf("%+v, away %v", b.Pipeline, b.Away)
	}
	if m := b.Cabinets[0].Stock[1]; m.SKU != "mystery" || m.Name != "mystery" || m.Sellable != nil {
		t.Errorf("a SKU that the filter does not have: %+v", m)
	}
	if c := b.Cabinets[1]; c.ID != "C002" || c.Health != "unknown" || c.Depth != nil || c.Seen != nil || c.SkewMS != nil || c.Stock == nil || len(c.Stock) != 0 {
		t.Errorf("a cabinet never heard of: %+v", c)
	}
	var p pipeline
	if status := s.get(t, "/v1/fleet/pipeline", &p); status != 200 || p.Queue != nil || !slices.Equal(p.Away, []string{"queue"}) || *p.Letters != 0 {
		t.Errorf("HTTP %d: %+v", status, p)
	}
	s.set(func() { s.away["queue"], s.away["ledger"] = nil, errAway })
	p = pipeline{}
	if status := s.get(t, "/v1/fleet/pipeline", &p); status != 200 || *p.Queue != 7 || p.Letters != nil || p.Outbox != nil {
		t.Errorf("HTTP %d: %+v", status, p)
	}
}

func TestAStreamTellsOnlyWhatChanged(t *testing.T) {
	s := start(t)
	r := s.watch(t)
	r.until(t, func(e event) bool { return e.body.IDs != nil })
	s.set(func() { s.presences[0].Status = "late" })
	b := r.until(t, func(e event) bool { return len(e.body.Cabinets) > 0 }).body
	if len(b.Cabinets) != 1 || b.Cabinets[0].ID != "C001" || b.Cabinets[0].Health != "late" || b.IDs != nil || b.Orders != nil {
		t.Errorf("%+v", b)
	}
}

func TestARateIsUnknownUntilThereWereTwoLooks(t *testing.T) {
	placed := int64(0)
	s := start(t, func(o *fleet.Options) { o.Placed = func() int64 { placed += 10; return placed } })
	r := s.watch(t)
	first := r.until(t, func(e event) bool { return e.body.Pipeline != nil }).body.Pipeline
	second := r.until(t, func(e event) bool { return e.body.Pipeline != nil }).body.Pipeline
	if first.Rate != nil || second.Rate == nil || *second.Rate <= 0 {
		t.Errorf("first %v, then %v", first.Rate, second.Rate)
	}
}

func TestOrdersArriveByThemselvesAtTheirHighestVersion(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_000)
	o := func(id string, second int, v int64, st order.Status) order.Order {
		return order.Order{ID: id, Cabinet: "C001", Status: st, Version: v, Amount: 250, Currency: "EUR", CreatedAt: at.Add(time.Duration(second) * time.Second)}
	}
	s := start(t)
	s.set(func() { s.orders = []order.Order{o("old", 0, 1, order.PreReserved)} })
	r := s.watch(t)
	b := r.until(t, func(e event) bool { return e.body.Orders != nil }).body
	if len(b.Orders) != 1 || b.Orders[0].ID != "old" {
		t.Fatalf("what the ledger had: %+v", b.Orders)
	}
	s.watcher.Publish([]order.Order{o("new", 2, 1, order.PreReserved), o("mid", 1, 1, order.PreReserved), o("old", 0, 2, order.Consumed), o("old", 0, 1, order.PreReserved)})
	b = r.until(t, func(e event) bool { return len(e.body.Orders) == 3 && e.body.Orders[2].Version == 2 }).body
	if got := fmt.Sprint([]string{b.Orders[0].ID, b.Orders[1].ID, b.Orders[2].ID, b.Orders[2].Status}); got != "[new mid old CONSUMED]" {
		t.Errorf("%s", got)
	}
	for i := range 100 {
		s.watcher.Publish([]order.Order{o(fmt.Sprint("o", i), 3+i, 1, order.PreReserved)})
	}
	b = r.until(t, func(e event) bool { return len(e.body.Orders) > 0 && e.body.Orders[0].ID == "o99" }).body
	if len(b.Orders) != 40 {
		t.Errorf("%d orders on the page", len(b.Orders))
	}
}

// One sampler feeds all pages, and only while there are any.
func TestManyPagesReadTheLedgerOnce(t *testing.T) {
	s := start(t)
	for range 20 {
		r := s.watch(t)
		r.until(t, func(e event) bool { return e.body.IDs != nil })
	}
	if lists, reads := s.lists.Load(), s.reads.Load(); lists != 1 || reads != 2 {
		t.Errorf("20 pages: the list was read %d times, shelves %d times; want 1 and 2", lists, reads)
	}
}

func TestNobodyWatchingMeansNothingRuns(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := start(t)
	for range 3 {
		a, b := s.watch(t), s.watch(t)
		a.until(t, func(e event) bool { return e.name == "fleet" })
		b.until(t, func(e event) bool { return e.name == "fleet" })
		a.close()
		b.close()
	}
	s.Client().CloseIdleConnections()
	s.Close() // waits for the handlers; Fleet.Close has not been called
}

func TestAQuietStreamBeats(t *testing.T) {
	s := start(t, func(o *fleet.Options) { o.Beat = 20 * time.Millisecond })
	r := s.watch(t)
	if e := r.until(t, func(e event) bool { return e.name == "beat" }); e.body.At == 0 {
		t.Errorf("%+v", e)
	}
}

func TestClosingEndsStreamsAndRefusesNewOnes(t *testing.T) {
	s := start(t)
	r := s.watch(t)
	r.until(t, func(e event) bool { return e.name == "fleet" })
	s.fleet.Close()
	for {
		if _, ok := r.next(t); !ok {
			break
		}
	}
	res, err := s.Client().Get(s.URL + "/v1/fleet/events")
	check(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("HTTP %d", res.StatusCode)
	}
}

func TestPagesAreBounded(t *testing.T) {
	s := start(t, func(o *fleet.Options) { o.Watchers = 1 })
	s.watch(t).until(t, func(e event) bool { return e.name == "fleet" })
	var p struct{ Code string }
	if status := s.get(t, "/v1/fleet/events", &p); status != 503 || p.Code != "overloaded" {
		t.Errorf("HTTP %d %s", status, p.Code)
	}
}

func TestTheLedgerAwayIsToldAndWhatWasKnownStays(t *testing.T) {
	s := start(t)
	r := s.watch(t)
	r.until(t, func(e event) bool { return e.body.IDs != nil })
	s.set(func() { s.away["ledger"] = errAway })
	s.watcher.Publish([]order.Order{{ID: "x", Cabinet: "C001", Version: 1, CreatedAt: time.Now()}})
	b := r.until(t, func(e event) bool { return len(e.body.Away) > 0 }).body
	if !slices.Equal(b.Away, []string{"ledger"}) {
		t.Errorf("away %v", b.Away)
	}
	for _, c := range b.Cabinets {
		if c.ID == "C001" && len(c.Stock) == 0 {
			t.Errorf("the last known stock is gone: %+v", c)
		}
	}
	s.set(func() { s.away["ledger"] = nil })
	r.until(t, func(e event) bool { return e.body.Away != nil && len(e.body.Away) == 0 })
}

func TestAFleetOfThousandsIsReadAFewAtATime(t *testing.T) {
	s := start(t, func(o *fleet.Options) { o.Every = time.Hour })
	s.set(func() {
		s.cabinets = nil
		for i := range 3000 {
			s.cabinets = append(s.cabinets, fmt.Sprintf("C%04d", i))
		}
	})
	b := s.watch(t).until(t, func(e event) bool { return e.body.IDs != nil }).body
	if n := s.reads.Load(); n != 64 || len(b.Cabinets) != 3000 {
		t.Errorf("the first sample read %d cabinets and listed %d", n, len(b.Cabinets))
	}
	if b.Cabinets[2999].Stock != nil {
		t.Error("stock that was not read must be unknown")
	}
}

func TestThePageIsSelfContainedAndWritesDataAsText(t *testing.T) {
	s := start(t)
	res, err := s.Client().Get(s.URL + "/")
	check(t, err)
	body := readAll(t, res)
	policy := res.Header.Get("Content-Security-Policy")
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(policy, "default-src 'none'") {
		t.Fatalf("HTTP %d, %v", res.StatusCode, res.Header)
	}
	for _, part := range []struct{ open, close, directive string }{{"<style>", "</style>", "style-src "}, {"<script>", "</script>", "script-src "}} {
		_, rest, _ := strings.Cut(body, part.open)
		text, _, ok := strings.Cut(rest, part.close)
		if !ok || !strings.Contains(policy, part.directive+hash(text)) {
			t.Errorf("%s is not what the policy allows", part.open)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "setTimeout(\"", " src=", "@import", "url(", "style=", "onclick="} {
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Count(body, "http://")+strings.Count(body, "https://") != 1 { // the icon's XML namespace
		t.Error("the page names an external address")
	}
}
