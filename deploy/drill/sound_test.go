package drill

import (
	"fmt"
	"time"

	"vendline/shared/wire"
)

// story is a small run in which every promise is kept, to be damaged.
type story struct {
	plan   Plan
	events []Event
	state  State
}

// at is an instant of the story, in Unix ms.
func at(seconds int64) int64 { return 1_700_000_000_000 + 1000*seconds }

// sound tells of a hold that ended, one that was paid, a scan that was placed,
// one that was refused, a placement that died, and a restock.
func sound() *story {
	s := &story{plan: NewPlan(1)}
	s.plan.Cabinets = []string{"D001"}
	s.state = State{
		At: at(100), Purses: map[string]Purse{}, Ends: map[string]map[string]LineEnd{}, Outbox: map[string]int{}, Generations: map[string]string{"D001": "g.f"},
		Redis:  map[string]RedisStock{"D001": {Generation: "g.f", Units: map[string]int64{}}},
		Agents: map[string]AgentState{"D001": {Verdicts: map[string]Verdict{}}},
	}
	for sku, n := range s.plan.Opening() {
		s.state.Stock = append(s.state.Stock, StockRow{Cabinet: "D001", SKU: sku, Total: n, Available: n})
	}
	s.order("ended", Phone, "ROLLBACKED", "sku-1", 2)
	s.order("paid", Phone, "CONSUMED", "sku-2", 1)
	s.order("scanned", Scan, "ROLLBACKED", "sku-1", 1)
	s.refusedScan("short")
	s.orphan("died")
	s.restock("fact", "sku-3", 5)
	for _, r := range s.state.Stock {
		s.state.Redis["D001"].Units[r.SKU] = r.Available
	}
	return s
}

func (s *story) order(id string, kind Kind, status, sku string, qty int64) {
	price := s.plan.Price(sku)
	e := Event{ID: id, Key: id, Kind: kind, Cabinet: "D001", User: "u", Lines: []wire.Line{{SKU: sku, Qty: int(qty)}}, Outcome: Yes, Since: time.UnixMilli(at(1))}
	e.Reply = fmt.Appendf(nil, `{"order":{"id":%q,"cabinet":"D001","user":"u","status":"PRE_RESERVED","amount":%d,"currency":"CNY",
		"lines":[{"sku":%q,"qty":%d,"price":%d}],"created_at":%q,"expires_at":%q},"payment":{}}`,
		id, price*qty, sku, qty, price, time.UnixMilli(at(0)).UTC().Format(time.RFC3339Nano), time.UnixMilli(at(6)).UTC().Format(time.RFC3339Nano))
	if status == "CONSUMED" {
		e.Paid, e.Dropped = true, map[string]int{sku: int(qty)}
		s.state.Purses[id] = Purse{Captured: price * qty}
		s.state.Ends[id] = map[string]LineEnd{sku: {"dispensed", qty}}
		r := s.stock(sku)
		r.Available, r.Sold = r.Available-qty, r.Sold+qty
	}
	if kind == Scan {
		s.state.Agents["D001"].Verdicts[id] = Verdict{"accepted", wire.Accepted}
	}
	s.events = append(s.events, e)
	s.state.Orders = append(s.state.Orders, OrderRow{ID: id, Cabinet: "D001", User: "u", Status: status, Version: 2, Amount: price * qty, Currency: "CNY",
		Cause: "timeout", Created: at(0), Changed: at(7), Expires: at(6), Lines: []OrderLine{{sku, qty, price}}})
	s.state.Log = append(s.state.Log, LogRow{ID: id, SKU: sku, Cabinet: "D001", Status: status, Qty: qty, Version: 2})
}

func (s *story) refusedScan(id string) {
	s.events = append(s.events, Event{ID: id, Kind: Scan, Cabinet: "D001", User: "u", Lines: []wire.Line{{SKU: "sku-1", Qty: 2}}, Outcome: Yes})
	s.state.Agents["D001"].Verdicts[id] = Verdict{"refused", wire.CodeStockShort}
}

// orphan is a placement that died, and whose shopper was told so.
func (s *story) orphan(id string) {
	s.events = append(s.events, Event{ID: id, Kind: Phone, Cabinet: "D001", User: "u", Lines: []wire.Line{{SKU: "sku-4", Qty: 1}}, Outcome: No, Code: wire.CodeOrderReleased})
	s.state.Orders = append(s.state.Orders, OrderRow{ID: id, Cabinet: "D001", User: "u", Status: "ROLLBACKED", Version: 2, Currency: "XXX", Orphan: true,
		Cause: "placement died", Created: at(0), Changed: at(9), Expires: at(0), Lines: []OrderLine{{"sku-4", 1, 0}}})
	s.state.Log = append(s.state.Log, LogRow{ID: id, SKU: "sku-4", Cabinet: "D001", Status: "ROLLBACKED", Qty: 1, Version: 2})
}

func (s *story) restock(id, sku string, qty int64) {
	lines := []wire.Line{{SKU: sku, Qty: int(qty)}}
	s.events = append(s.events, Event{ID: id, Kind: Restock, Cabinet: "D001", Lines: lines, Outcome: Yes})
	s.state.Facts = append(s.state.Facts, FactRow{ID: id, Cabinet: "D001", Kind: "RESTOCK", Epoch: "e", Seq: 3, Created: at(3), Lines: lines})
	s.state.Log = append(s.state.Log, LogRow{ID: id, SKU: sku, Cabinet: "D001", Status: "RESTOCK", Qty: qty, Version: 1})
	s.state.Agents["D001"].Verdicts[id] = Verdict{"accepted", wire.Accepted}
	r := s.stock(sku)
	r.Total, r.Available = r.Total+qty, r.Available+qty
}

func (s *story) stock(sku string) *StockRow {
	for i := range s.state.Stock {
		if s.state.Stock[i].SKU == sku {
			return &s.state.Stock[i]
		}
	}
	return nil
}

func (s *story) row(id string) *OrderRow {
	for i := range s.state.Orders {
		if s.state.Orders[i].ID == id {
			return &s.state.Orders[i]
		}
	}
	return nil
}

func (s *story) event(id string) *Event {
	for i := range s.events {
		if s.events[i].ID == id {
			return &s.events[i]
		}
	}
	return nil
}
