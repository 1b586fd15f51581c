// Package outbox is the transactional outbox: rows of `local_msg`, written in
// the transaction that decides, and carried out by a runner afterwards. After a
// commit the rows go to their runner from memory at once; the poll, which claims
// rows whose lease is over, is the safety net for a process that died between.
package outbox

import (
	"context"
	"time"
)

// Kind says which runner a row is for.
type Kind string

// Kinds of rows.
const (
	// KindStock carries a statement.Message for step 8. It goes only when step 8 has
	// applied it, in that transaction, so that the oldest row is the watermark
	// below which the deduct log knows every order.
	KindStock Kind = "stock"
	// KindTimer carries a Timer: a hint to look at holds when they end. It goes when
	// the queue has it; the sweeper finds what a lost hint would have told.
	KindTimer Kind = "timer"
	// KindRedis carries effect.Effects. It goes when a transaction that found their
	// generations current has committed.
	KindRedis Kind = "redis"
	// KindNotice names a provider's callback that is kept and not yet settled. It
	// goes when its money is booked, or a case is open.
	KindNotice Kind = "notice"
	// KindCheck names an open charge, to be asked about until it is paid or
	// closed: what finds a lost callback.
	KindCheck Kind = "check"
	// KindLate names a payment that came after its order was rolled back. It goes
	// when the order is consumed after all, or a refund row stands in its place.
	KindLate Kind = "late"
	// KindRefund names a refund. It goes when the provider has done it, or a case
	// is open.
	KindRefund Kind = "refund"
	// KindCommand names a dispense command. It goes with the cabinet's result, or
	// when the time for it is over and the money is on its way back.
	KindCommand Kind = "command"
	// KindReplace names holds that their shopper's next order has replaced. It
	// goes when they are rolled back, or paid.
	KindReplace Kind = "replace"
	// KindPlanogram carries a Planogram: a version that its cabinet has not
	// acknowledged. It goes when it has, or when there is a newer one.
	KindPlanogram Kind = "planogram"
	// KindIntent names orders that were taken in without an answer (202) and are
	// to be placed. It goes when each is placed, or refused for good.
	KindIntent Kind = "intent"
	// KindCallback carries an order's outcome to whoever wants to hear of it. It
	// goes when he has, or with a dead letter.
	KindCallback Kind = "callback"
	// KindIntake carries an Intake: what a cabinet sent, for the intake to decode
	// once more. It goes when its fact is booked, or is a dead letter again.
	KindIntake Kind = "intake"
	// KindAlert carries an alert.Notification to one sink. It goes when the sink
	// has it, or with a dead letter.
	KindAlert Kind = "alert"
)

// Kinds lists all of them.
var Kinds = [...]Kind{
	KindStock, KindTimer, KindRedis, KindNotice, KindCheck, KindLate, KindRefund,
	KindCommand, KindReplace, KindPlanogram, KindIntent, KindCallback, KindIntake, KindAlert,
}

// Row is one row of local_msg.
type Row struct {
	ID        string
	Kind      Kind
	Shard     int // by cabinet: which queue of the topic, which consumer
	Payload   []byte
	Attempts  int // times claimed by the poll
	CreatedAt time.Time
	DueAt     time.Time // claimable from then on; until then, somebody's lease
}

// Timer is the payload of a timer row: holds that end at about the same time.
type Timer struct {
	At  int64    `json:"at"` // Unix ms, by the service's clock
	IDs []string `json:"ids"`
}

// Replace is the payload of a replace row: holds to roll back.
type Replace struct {
	IDs []string `json:"ids"`
}

// Planogram is the payload of a planogram row: a version to tell its cabinet.
type Planogram struct {
	Cabinet string `json:"cabinet"`
	Version int64  `json:"version"`
}

// Intents is the payload of an intent row: orders to place.
type Intents struct {
	IDs []string `json:"ids"`
}

// Callback is the payload of a callback row: what to tell, and whom.
type Callback struct {
	URL  string `json:"url"`
	Body []byte `json:"body"` // the same bytes however often it is sent
}

// Intake is the payload of an intake row: what came under which topic.
type Intake struct {
	Topic   string `json:"topic"`
	Payload []byte `json:"payload"`
}

// Store is what a runner needs of the ledger.
type Store interface {
	// Claim leases up to n due rows of kind for lease; no other caller gets them
	// before it is over. Rows are found by their due time, never by an id cursor:
	// ids commit out of order.
	Claim(ctx context.Context, kind Kind, n int, lease func(attempts int) time.Duration) ([]Row, error)
	// Delete removes rows that are carried out.
	Delete(ctx context.Context, ids ...string) error
}

// Noter keeps why rows are still there; a Store may be one.
type Noter interface {
	// Note keeps the last error of those of ids that are still there.
	Note(ctx context.Context, why string, ids ...string) error
}

// Stat is the state of one kind's backlog.
type Stat struct {
	Kind   Kind
	Depth  int64
	Oldest time.Duration // age of the oldest row; 0 when there is none
	Stuck  int64         // rows claimed as often as their Schedule calls stuck
}

// Waiting is a row as people look at it.
type Waiting struct {
	Row
	LastError string
}
