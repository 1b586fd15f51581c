package fleet_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

func (b books) SetPlanogram(_ context.Context, cabinet string, slots []wire.Slot, base *int64) (int64, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cabinet == "C999" {
		return 0, false, &order.Refusal{Code: wire.CodeCabinetUnknown}
	}
	now := b.plans[cabinet]
	if base != nil && *base != now.Version {
		return 0, false, planogram.ErrConflict
	}
	now.Cabinet, now.Version, now.Slots, now.Since = cabinet, now.Version+1, slots, time.UnixMilli(5)
	b.plans[cabinet] = now
	return now.Version, true, b.away["ledger"]
}

func (b books) Planograms(_ context.Context, cabinets ...string) (map[string]planogram.State, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]planogram.State{}
	for _, c := range cabinets {
		if p, ok := b.plans[c]; ok {
			out[c] = p
		}
	}
	return out, b.away["ledger"]
}

func (b books) ResumeSlot(_ context.Context, cabinet, slot string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, f := range b.faults {
		if f.Cabinet == cabinet && f.Slot == slot {
			b.faults = append(b.faults[:i:i], b.faults[i+1:]...)
			return true, nil
		}
	}
	return false, b.away["desk"]
}

// put sends a planogram and returns the status and the body.
func (s *site) put(t *testing.T, cabinet, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPut, s.URL+"/v1/fleet/cabinets/"+cabinet+"/planogram", strings.NewReader(body))
	check(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Client().Do(req)
	check(t, err)
	return res.StatusCode, readAll(t, res)
}

type plan struct {
	Cabinet        string
	Version, Acked int64
	Since          *int64
	AckedAt        *int64 `json:"acked_at"`
	Slots          []wire.Slot
}

func TestAPlanogramIsSetFromTheOneThatWasRead(t *testing.T) {
	s := start(t)
	const slots = `"slots":[{"slot":"A1","sku":"cola","capacity":9,"price":350,"currency":"CNY"}]`
	var none plan
	if status := s.get(t, "/v1/fleet/cabinets/C001/planogram", &none); status != 200 || none.Version != 0 || none.Since != nil || none.Slots == nil {
		t.Errorf("before there is one: HTTP %d %+v", status, none)
	}
	for _, c := range []struct {
		body string
		want int
	}{{`{"base":0,` + slots + `}`, 200}, {`{"base":0,` + slots + `}`, 409}, {`{` + slots + `}`, 200}, {`{"base":2,` + slots + `}`, 200}, {`{"bas":2,` + slots + `}`, 400}} {
		if status, body := s.put(t, "C001", c.body); status != c.want || status == 409 && !strings.Contains(body, `"version_conflict"`) {
			t.Errorf("%s: HTTP %d %s", c.body, status, body)
		}
	}
	s.set(func() {
		p := s.plans["C001"]
		p.Acked, p.AckedAt = 2, time.UnixMilli(9)
		s.plans["C001"] = p
	})
	var p plan
	if status := s.get(t, "/v1/fleet/cabinets/C001/planogram", &p); status != 200 || p.Version != 3 || p.Acked != 2 || *p.AckedAt != 9 || len(p.Slots) != 1 || p.Slots[0].Price != 350 {
		t.Errorf("HTTP %d %+v", status, p)
	}
	if status, _ := s.put(t, "C999", `{`+slots+`}`); status != 404 {
		t.Errorf("a cabinet that is not there: HTTP %d", status)
	}
	for _, path := range []string{"C999", "%23", "*"} {
		var no struct{ Code string }
		if status := s.get(t, "/v1/fleet/cabinets/"+path+"/planogram", &no); status != 404 || no.Code != "cabinet_unknown" {
			t.Errorf("%s: HTTP %d %s", path, status, no.Code)
		}
	}
}

func TestPlanogramsWithoutAnAnswerAreListed(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.unacked = []planogram.Unacked{{Cabinet: "C002", Version: 3, Since: time.UnixMilli(5), Acked: 2}, {Cabinet: "C001", Version: 1}}
	})
	var p struct {
		Total      int64
		Planograms []struct {
			Cabinet               string
			Version, Since, Acked int64
		}
	}
	if status := s.get(t, "/v1/fleet/planograms?unacked=true&limit=1", &p); status != 200 || p.Total != 2 || len(p.Planograms) != 1 || p.Planograms[0].Acked != 2 {
		t.Errorf("HTTP %d %+v", status, p)
	}
	if status := s.get(t, "/v1/fleet/planograms", &p); status != 400 {
		t.Errorf("HTTP %d", status)
	}
}

func TestASlotIsSoldFromAgainWhenSomebodyLookedAtIt(t *testing.T) {
	s := start(t)
	s.set(func() { s.faults = []order.SlotFault{{Cabinet: "C001", Slot: "A1", SKU: "cola"}} })
	for _, want := range []string{`"resumed":true`, `"resumed":false`} {
		res, err := s.Client().Post(s.URL+"/v1/fleet/cabinets/C001/slots/A1/resume", "", nil)
		check(t, err)
		if body := readAll(t, res); res.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("HTTP %d %s, want %s", res.StatusCode, body, want)
		}
	}
	for path, want := range map[string]int{"C999/slots/A1": 404, "C001/slots/%20": 400, "C001/slots/" + strings.Repeat("a", 65): 400} {
		if status := s.post(t, "/v1/fleet/cabinets/"+path+"/resume", `{}`); status != want {
			t.Errorf("%s: HTTP %d, want %d", path, status, want)
		}
	}
}
