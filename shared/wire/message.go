package wire

// Event is the envelope of everything durable that a cabinet sends up: exactly
// one of Order and Fact is set, matching the channel it came on.
type Event struct {
	V       int    `json:"v"`       // Version
	ID      string `json:"id"`      // UUIDv7 minted by the agent; the idempotency key
	Cabinet string `json:"cabinet"` // must equal the topic's
	Epoch   string `json:"epoch"`   // one incarnation of the cabinet's outbox (UUID)
	Seq     int64  `json:"seq"`     // 1, 2, 3 … within the epoch
	At      int64  `json:"at"`      // device clock, Unix ms: for skew, never for deadlines
	Order   *Order `json:"order,omitempty"`
	Fact    *Fact  `json:"fact,omitempty"`
}

// Order is the body of a scan-order.
type Order struct {
	User     string `json:"user"`
	Lines    []Line `json:"lines"`
	PricedAt int64  `json:"priced_at,omitempty"` // planogram version the shopper saw; 0: whatever is in force
}

// Verdict is the cloud's answer to a scan-order, and its application ack: once
// it is stored, the cabinet's row may go. Sent again for every redelivery.
type Verdict struct {
	V         int        `json:"v"`
	ID        string     `json:"id"`
	Cabinet   string     `json:"cabinet"`
	Epoch     string     `json:"epoch"`
	Seq       int64      `json:"seq"`
	Code      Code       `json:"code"` // Accepted, or the refusal
	Detail    string     `json:"detail,omitempty"`
	Retryable bool       `json:"retryable"`
	Status    string     `json:"status,omitempty"`     // order state when accepted
	Amount    int64      `json:"amount,omitempty"`     // minor units
	Currency  string     `json:"currency,omitempty"`   // ISO 4217
	ExpiresIn int64      `json:"expires_in,omitempty"` // ms the hold still lives: an interval, since device clocks lie
	Short     []Shortage `json:"short,omitempty"`
	Prices    []Price    `json:"prices,omitempty"`    // CodePriceChanged: what the SKUs cost now
	PricedAt  int64      `json:"priced_at,omitempty"` // … and under which planogram version
}

// Price is what one unit of a SKU costs, in minor units.
type Price struct {
	SKU      string `json:"sku"`
	Price    int64  `json:"price"`
	Currency string `json:"currency"`
}

// Shortage names a SKU that a basket asked too much of.
type Shortage struct {
	SKU  string `json:"sku"`
	Want int    `json:"want"`
	Have int    `json:"have"`
}

// Ack lists facts (and unreadable events) that are durable in the cloud.
type Ack struct {
	V       int     `json:"v"`
	Cabinet string  `json:"cabinet"`
	Epoch   string  `json:"epoch"`
	Seqs    []int64 `json:"seqs"`
}

// Beat is a cabinet's health, sent every few seconds.
type Beat struct {
	V       int    `json:"v"`
	Cabinet string `json:"cabinet"`
	Session string `json:"session"`
	Epoch   string `json:"epoch"`
	At      int64  `json:"at"`     // device clock, Unix ms
	Depth   int64  `json:"depth"`  // rows waiting in the outbox
	Parked  int64  `json:"parked"` // rows that can not be sent
	Uptime  int64  `json:"uptime"` // ms, monotonic
}

// State is a birth certificate, or (Online false) the broker's last will. Both
// carry the session id, so that a late will cannot kill a live session.
type State struct {
	V       int    `json:"v"`
	Cabinet string `json:"cabinet"`
	Session string `json:"session"`
	Online  bool   `json:"online"`
	Epoch   string `json:"epoch"`
	Gap     bool   `json:"gap"`   // the previous outbox was damaged and set aside
	Agent   string `json:"agent"` // agent version
}
