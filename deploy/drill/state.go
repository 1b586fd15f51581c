package drill

import "vendline/shared/wire"

// State is all that the stores say, read while nothing changes. It is plain
// data, so that a test can corrupt it in every way a bug could.
type State struct {
	At          int64       // Unix ms when it was read
	Clocks      []ClockRead // how wrong vend-cloud's clock was, and from when on
	Stock       []StockRow
	Orders      []OrderRow
	Facts       []FactRow
	Log         []LogRow
	Purses      map[string]Purse              // by order
	Ends        map[string]map[string]LineEnd // by order and SKU
	Outbox      map[string]int                // rows of local_msg by kind
	Queue       int64                         // stock messages that step 8 has not had
	Letters     []string                      // reasons of dead letters
	Generations map[string]string             // "<cabinet's>.<fleet's>" token, by cabinet, as MySQL has it
	Redis       map[string]RedisStock
	Agents      map[string]AgentState
}

// StockRow is a row of trade_sku_stock.
type StockRow struct {
	Cabinet, SKU                   string
	Total, Available, Locked, Sold int64
}

// OrderRow is a row of trade_order with its lines.
type OrderRow struct {
	ID, Cabinet, User, Status string
	Version, Amount           int64
	Currency                  string
	Orphan                    bool
	Cause                     string
	Created, Changed, Expires int64 // Unix ms
	HoldUntil                 int64 // 0 when nothing is held
	Lines                     []OrderLine
}

// OrderLine is a row of trade_order_line.
type OrderLine struct {
	SKU        string
	Qty, Price int64
}

// FactRow is a row of trade_fact with its lines.
type FactRow struct {
	ID, Cabinet, Kind, Epoch string
	Seq, Created             int64
	Lines                    []wire.Line
}

// LogRow is a row of trade_stock_deduct_log.
type LogRow struct {
	ID, SKU, Cabinet, Status string
	Qty, Version             int64
}

// RedisStock is one cabinet in Redis.
type RedisStock struct {
	Generation string // "" when it is not loaded
	Units      map[string]int64
	Reserved   []string // ids in resv
}

// AgentState is one cabinet's agent.
type AgentState struct {
	Depth    int64
	Parked   int64
	SetAside string             // a damaged outbox that was renamed
	Verdicts map[string]Verdict // what it says of the events it took, by id
}

// Verdict is an agent's word on one event.
type Verdict struct {
	Status string    `json:"status"` // pending, accepted or refused; "" when it does not know the id
	Code   wire.Code `json:"code"`
}

// final reports whether an order in this status waits for nobody.
func final(status string) bool { return status == "CONSUMED" || status == "ROLLBACKED" }
