package fleet_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/planogram"
)

const caseID = "01a3185c-5078-7000-8000-000000000001"

func (s *site) post(t *testing.T, path, body string) int {
	t.Helper()
	res, err := s.Client().Post(s.URL+path, "application/json", strings.NewReader(body))
	check(t, err)
	readAll(t, res)
	return res.StatusCode
}

func TestWhatWaitsForAPersonIsOnThePage(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_000)
	s := start(t)
	s.set(func() {
		s.cases = []order.Case{{ID: caseID, Kind: order.CaseNotDispensed, Subject: "x", Order: "o1", Cabinet: "C001", Detail: "<b>", CreatedAt: at}}
		s.faults = []order.SlotFault{{Cabinet: "C001", Slot: "A1", SKU: "cola", Fault: "jam", Since: at}}
		s.unacked = []planogram.Unacked{{Cabinet: "C002", Version: 3, Since: at, Acked: 2}}
	})
	r := s.watch(t)
	b := r.until(t, func(e event) bool { return e.body.Desk != nil }).body
	if d := b.Desk; d.Open == nil || *d.Open != 1 || d.Cases[0].Order != "o1" || d.Cases[0].Detail != "<b>" || d.Cases[0].Closed != nil ||
		*d.Unacked != 1 || d.Waiting[0].Cabinet != "C002" || d.Waiting[0].Acked != 2 {
		t.Errorf("%+v", d)
	}
	if c := b.Cabinets[0]; len(c.Suspended) != 1 || c.Suspended[0].Slot != "A1" || c.Suspended[0].Fault != "jam" {
		t.Errorf("%+v", c)
	}
	if c := b.Cabinets[1]; c.Suspended == nil || len(c.Suspended) != 0 {
		t.Errorf("a cabinet whose slots all work: %+v", c.Suspended)
	}
	s.set(func() { s.away["desk"] = errAway })
	if d := r.until(t, func(e event) bool { return e.body.Desk != nil }).body.Desk; d.Open != nil || d.Cases != nil || d.Unacked != nil {
		t.Errorf("what nobody can tell: %+v", d)
	}
}

func TestWhichSlotsWorkIsUnknownUntilItWasRead(t *testing.T) {
	s := start(t)
	s.set(func() { s.away["desk"] = errAway })
	b := s.watch(t).until(t, func(e event) bool { return e.body.Cabinets != nil }).body
	if b.Cabinets[0].Suspended != nil {
		t.Errorf("%+v", b.Cabinets[0].Suspended)
	}
}

func TestOpenAndClosedCasesAreListed(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.cases = []order.Case{{ID: "open"}, {ID: "closed", Closed: true, Note: "refilled", ChangedAt: time.UnixMilli(7)}}
	})
	for path, want := range map[string]string{"": "open", "?closed=false": "open", "?closed=true": "closed"} {
		var p struct {
			Open  int64
			Cases []deskCase
		}
		if status := s.get(t, "/v1/fleet/cases"+path, &p); status != 200 || p.Open != 1 || len(p.Cases) != 1 || p.Cases[0].ID != want {
			t.Errorf("%q: HTTP %d %+v", path, status, p)
		}
	}
}

func TestACaseIsClosedWithANote(t *testing.T) {
	s := start(t)
	if status := s.post(t, "/v1/fleet/cases/"+caseID+"/close", `{"note":"refilled it"}`); status != 200 || s.notes[caseID] != "refilled it" {
		t.Errorf("HTTP %d, %v", status, s.notes)
	}
	for body, want := range map[string]int{`{}`: 400, `{"note":""}`: 400, `{"note":"` + strings.Repeat("é", 201) + `"}`: 400, `{"note":"x","by":"me"}`: 400, `{"note":"` + strings.Repeat("é", 200) + `"}`: 200} {
		if status := s.post(t, "/v1/fleet/cases/"+caseID+"/close", body); status != want {
			t.Errorf("%.40s: HTTP %d, want %d", body, status, want)
		}
	}
	if status := s.post(t, "/v1/fleet/refunds/"+caseID+"/retry", ""); status != 200 || s.notes[caseID] != "tried again" {
		t.Errorf("a refund is not tried again: %d, %q", status, s.notes[caseID])
	}
	if status := s.post(t, "/v1/fleet/cases/nonsense/close", `{"note":"x"}`); status != http.StatusNotFound {
		t.Errorf("an id that is none: HTTP %d", status)
	}
}

func TestOrdersAreFilteredAndSayWhereTheirMoneyIs(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.orders = []order.Order{
			{ID: "a", Cabinet: "C001", User: "ann", Status: order.Consumed, Lines: []order.Line{{SKU: "cola", Qty: 2, State: order.LineFailed, Dropped: 1}}},
			{ID: "b", Cabinet: "C002", User: "bob", Status: order.PreReserved},
			{ID: "c", Cabinet: "C002", User: "ann", Status: order.RolledBack},
		}
		s.standings = map[string]string{"a": "refunding"}
	})
	for path, want := range map[string]string{"": "a refunding, b unpaid, c void", "?user=ann": "a refunding, c void", "?cabinet=C002&status=PRE_RESERVED": "b unpaid", "?limit=1": "a refunding"} {
		var p struct {
			Orders []struct {
				ID, Payment string
				Lines       []struct {
					State   string
					Dropped int
				}
			}
		}
		var got []string
		s.get(t, "/v1/fleet/orders"+path, &p)
		for _, o := range p.Orders {
			got = append(got, o.ID+" "+o.Payment)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %v, want %s", path, got, want)
		}
		if o := p.Orders[0]; o.ID == "a" && (o.Lines[0].State != "failed" || o.Lines[0].Dropped != 1) {
			t.Errorf("%+v", o)
		}
	}
}

func TestThePageHearsWhatBecomesOfMoneyAndLines(t *testing.T) {
	o := order.Order{ID: "a", Cabinet: "C001", Status: order.Consumed, Version: 2, CreatedAt: time.UnixMilli(5), Lines: []order.Line{{SKU: "cola", Qty: 1, State: order.LineDispensing}}}
	s := start(t)
	r := s.watch(t)
	r.until(t, func(e event) bool { return e.body.Orders != nil })
	s.watcher.Publish([]order.Order{o})
	if b := r.until(t, func(e event) bool { return len(e.body.Orders) == 1 }).body; b.Orders[0].Payment != nil {
		t.Errorf("where its money is was not read yet: %q", *b.Orders[0].Payment)
	}
	s.set(func() {
		o.Lines = []order.Line{{SKU: "cola", Qty: 1, State: order.LineRefunded}}
		s.orders, s.standings = []order.Order{o}, map[string]string{"a": "refunded"}
	})
	b := r.until(t, func(e event) bool { return len(e.body.Orders) == 1 && e.body.Orders[0].Payment != nil }).body
	if *b.Orders[0].Payment != "refunded" || b.Orders[0].Lines[0].State != "refunded" {
		t.Errorf("%+v", b.Orders[0])
	}
}
