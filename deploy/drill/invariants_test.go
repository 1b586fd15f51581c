package drill

import (
	"slices"
	"strings"
	"testing"

	"vendline/shared/wire"
)

func TestASoundRunBreaksNoPromise(t *testing.T) {
	s := sound()
	for _, f := range Check(s.plan, s.events, s.state) {
		t.Error(f)
	}
}

// damages are the ways a bug could show, one by one, each with the beginning of
// the promise that must be found broken.
func damages() map[string]struct {
	promise string
	do      func(*story)
} {
	type damage = struct {
		promise string
		do      func(*story)
	}
	agent := func(do func(*AgentState)) func(*story) {
		return func(s *story) { a := s.state.Agents["D001"]; do(&a); s.state.Agents["D001"] = a }
	}
	redis := func(do func(*RedisStock)) func(*story) {
		return func(s *story) { r := s.state.Redis["D001"]; do(&r); s.state.Redis["D001"] = r }
	}
	without := func(id string) func(*story) {
		return func(s *story) {
			s.state.Orders = slices.DeleteFunc(s.state.Orders, func(o OrderRow) bool { return o.ID == id })
		}
	}
	return map[string]damage{
		"a unit vanished":                     {"total =", func(s *story) { s.stock("sku-1").Available-- }},
		"a column below zero":                 {"total =", func(s *story) { r := s.stock("sku-1"); r.Locked, r.Available = -1, r.Available+1 }},
		"a unit from nowhere":                 {"opening stock", func(s *story) { r := s.stock("sku-1"); r.Total, r.Available = r.Total+1, r.Available+1 }},
		"sold twice":                          {"opening stock", func(s *story) { r := s.stock("sku-2"); r.Available, r.Sold = r.Available-1, r.Sold+1 }},
		"locked for ever":                     {"opening stock", func(s *story) { r := s.stock("sku-1"); r.Available, r.Locked = r.Available-2, 2 }},
		"a stock row is gone":                 {"opening stock", func(s *story) { s.state.Stock = s.state.Stock[1:] }},
		"the log has a line twice":            {"the deduct log", func(s *story) { s.state.Log = append(s.state.Log, s.state.Log[0]) }},
		"the log has forgotten a line":        {"the deduct log", func(s *story) { s.state.Log = s.state.Log[1:] }},
		"the log is a version behind":         {"the deduct log", func(s *story) { s.state.Log[0].Version = 1 }},
		"the log knows nobody's line":         {"the deduct log", func(s *story) { s.state.Log = append(s.state.Log, LogRow{ID: "nobody", SKU: "sku-1", Cabinet: "D001"}) }},
		"the log misses a fact":               {"the deduct log", func(s *story) { s.state.Log = s.state.Log[:len(s.state.Log)-1] }},
		"an accepted order is lost":           {"an order that was accepted", without("ended")},
		"an accepted order has another user":  {"an order that was accepted", func(s *story) { s.row("ended").User = "v" }},
		"an accepted order costs more":        {"an order that was accepted", func(s *story) { s.row("ended").Amount++ }},
		"an accepted order has another line":  {"an order that was accepted", func(s *story) { s.row("ended").Lines = []OrderLine{{"sku-1", 3, 150}} }},
		"an accepted order was drafted again": {"an order that was accepted", func(s *story) { s.row("ended").Created++ }},
		"an accepted order is an orphan":      {"an order that was accepted", func(s *story) { s.row("ended").Orphan = true }},
		"a reply that is no order":            {"an order that was accepted", func(s *story) { s.event("ended").Reply = []byte("{}") }},
		"an accepted scan is lost":            {"a scan", without("scanned")},
		"a scan is still pending":             {"a scan", func(s *story) { s.state.Agents["D001"].Verdicts["short"] = Verdict{"pending", ""} }},
		"an agent forgot a scan":              {"a scan", func(s *story) { delete(s.state.Agents["D001"].Verdicts, "short") }},
		"a scan is refused for the moment":    {"a scan", func(s *story) { s.state.Agents["D001"].Verdicts["short"] = Verdict{"refused", wire.CodeUnavailable} }},
		"a scan has another basket":           {"a scan", func(s *story) { s.event("scanned").Lines[0].Qty = 9 }},
		"a fact is lost":                      {"a fact", func(s *story) { s.state.Facts = nil }},
		"a fact brought less":                 {"a fact", func(s *story) { s.state.Facts[0].Lines = []wire.Line{{SKU: "sku-3", Qty: 4}} }},
		"a fact is recorded twice":            {"a fact", func(s *story) { f := s.state.Facts[0]; f.ID = "again"; s.state.Facts = append(s.state.Facts, f) }},
		"a cabinet never heard of its fact":   {"a fact", func(s *story) { s.state.Agents["D001"].Verdicts["fact"] = Verdict{"pending", ""} }},
		"a payment is forgotten":              {"money is never silent", func(s *story) { s.row("paid").Status = "ROLLBACKED" }},
		"money that our books do not have":    {"money is never silent", func(s *story) { delete(s.state.Purses, "paid") }},
		"a refund that we know nothing of":    {"paid = value", func(s *story) { p := s.state.Purses["paid"]; p.Returned = 1; s.state.Purses["paid"] = p }},
		"paid, vended and refunded": {"paid = value", func(s *story) {
			p := s.state.Purses["paid"]
			p.Returned, p.Refunded = p.Captured, p.Captured
			s.state.Purses["paid"] = p
		}},
		"a line that jammed for nothing": {"every line of a paid", func(s *story) { s.state.Ends["paid"]["sku-2"] = LineEnd{"failed", 1} }},
		"a unit dropped in secret":       {"what the motors", func(s *story) { s.event("paid").Dropped["sku-2"]++ }},
		"an order that nobody placed":    {"nothing is in MySQL", func(s *story) { o := *s.row("ended"); o.ID = "ghost"; s.state.Orders = append(s.state.Orders, o) }},
		"a fact that nobody reported":    {"nothing is in MySQL", func(s *story) { f := s.state.Facts[0]; f.ID = "ghost"; s.state.Facts = append(s.state.Facts, f) }},
		"nobody answered":                {"everybody", func(s *story) { s.event("died").Outcome = Unanswered }},
		"a hold is left":                 {"every order", func(s *story) { s.row("ended").Status = "PRE_RESERVED" }},
		"a hold ended a minute late":     {"no hold", func(s *story) { s.row("ended").Changed = at(67) }},
		"a hold goes on for ever":        {"no hold", func(s *story) { s.row("ended").Status = "PRE_RESERVED" }},
		"Redis sells a unit more":        {"Redis sells", redis(func(r *RedisStock) { r.Units["sku-1"]++ })},
		"Redis does not know a SKU":      {"Redis sells", redis(func(r *RedisStock) { delete(r.Units, "sku-1") })},
		"Redis sells what there is not":  {"Redis sells", redis(func(r *RedisStock) { r.Units["sku-9"] = 1 })},
		"Redis is of another generation": {"Redis sells", redis(func(r *RedisStock) { r.Generation = "old.f" })},
		"Redis is not loaded":            {"Redis sells", redis(func(r *RedisStock) { *r = RedisStock{} })},
		"Redis still waits":              {"Redis waits", redis(func(r *RedisStock) { r.Reserved = []string{"ended"} })},
		"a row is never carried out":     {"backlogs", func(s *story) { s.state.Outbox["redis"] = 1 }},
		"a message nobody takes":         {"backlogs", func(s *story) { s.state.Queue = 1 }},
		"a dead letter":                  {"backlogs", func(s *story) { s.state.Letters = []string{"stock: why"} }},
		"an event waits at its cabinet":  {"backlogs", agent(func(a *AgentState) { a.Depth = 1 })},
		"an event is parked":             {"backlogs", agent(func(a *AgentState) { a.Parked = 1 })},
		"an outbox was set aside":        {"backlogs", agent(func(a *AgentState) { a.SetAside = "outbox.damaged" })},
	}
}

func TestTheCheckerFindsEveryDamage(t *testing.T) {
	for name, d := range damages() {
		s := sound()
		d.do(s)
		found := Check(s.plan, s.events, s.state)
		if !slices.ContainsFunc(found, func(f Finding) bool { return strings.HasPrefix(f.Promise, d.promise) }) {
			t.Errorf("%s: %q was not found broken, only %v", name, d.promise, found)
		}
	}
}

func TestEveryPromiseCanBeBroken(t *testing.T) {
	for _, i := range invariants() {
		broken := false
		for _, d := range damages() {
			broken = broken || strings.HasPrefix(i.promise, d.promise)
		}
		if !broken {
			t.Errorf("no damage breaks %q", i.promise)
		}
	}
}

func TestTheGuardsRepairsAreCounted(t *testing.T) {
	s := sound()
	s.row("ended").Cause = "stock short"
	s.state.Facts = append(s.state.Facts, FactRow{ID: "drift", Kind: "DRIFT", Created: at(50), Lines: []wire.Line{{SKU: "sku-1", Qty: 3}}})
	got := Repairs(s.state)
	if len(got) != 2 || got[0].ID != "ended" || got[0].Units != 2 || got[1].ID != "drift" || got[1].Units != 3 {
		t.Errorf("repairs %+v", got)
	}
}
