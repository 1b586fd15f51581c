package order

import (
	"time"

	"vendline/shared/wire"
)

// Outcome is what a callback says of an order that was taken in.
type Outcome struct {
	Event   string          `json:"event"` // order.placed or order.refused
	At      time.Time       `json:"at"`
	Order   OutcomeOrder    `json:"order"`
	Refusal *OutcomeRefusal `json:"refusal,omitempty"`
}

// OutcomeOrder is the order of an Outcome.
type OutcomeOrder struct {
	ID       string     `json:"id"`
	Cabinet  string     `json:"cabinet"`
	User     string     `json:"user"`
	Status   Status     `json:"status"`
	Version  int64      `json:"version"`
	Amount   int64      `json:"amount"` // minor units
	Currency string     `json:"currency"`
	DueBy    *time.Time `json:"due_by,omitempty"` // when the hold ends unless it is paid
}

// OutcomeRefusal says why an order is not placed.
type OutcomeRefusal struct {
	Code   wire.Code `json:"code"`
	Detail string    `json:"detail"`
}

// OutcomeOf tells a decided order's outcome.
func OutcomeOf(o Order, at time.Time) Outcome {
	out := Outcome{Event: "order.placed", At: at, Order: OutcomeOrder{
		ID: o.ID, Cabinet: o.Cabinet, User: o.User, Status: o.Status, Version: o.Version, Amount: o.Amount, Currency: o.Currency,
	}}
	if o.Refused() {
		out.Event, out.Refusal = "order.refused", &OutcomeRefusal{Code: o.Intent.Code, Detail: o.Intent.Detail}
	} else {
		out.Order.DueBy = &o.HoldUntil
	}
	return out
}
