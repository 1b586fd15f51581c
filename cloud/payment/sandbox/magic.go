package sandbox

import (
	"time"

	"vendline/shared/money"
)

// rule is what goes wrong with a charge. The last two digits of its amount in
// minor units choose it, so that a test, a drill or a person at the demo can,
// by a price.
type rule int64

const (
	comeLate       rule = 89 // the callback is sent 100 s late, and query and close are not answered in time
	loseCallback   rule = 91 // it is never sent
	delayCallback  rule = 92 // it is sent 30 s late
	floodCallback  rule = 93 // it is sent 20 times at once
	shortCallback  rule = 94 // it says one minor unit less
	foreignAmount  rule = 95 // it says another currency
	refundStumbles rule = 96 // the first three requests are answered 500; the third one is carried out all the same
	refundRefused  rule = 97 // for good
	createStumbles rule = 98 // the first two requests are answered 500; the second one is carried out all the same
	silence        rule = 99 // query and close are not answered in time
)

const (
	delayBy     = 30 * time.Second
	lateBy      = 100 * time.Second
	floodOf     = 20
	silenceFor  = 30 * time.Second
	refundFails = 3
	createFails = 2
)

func ruleOf(amount money.Money) rule { return rule(amount.Minor % 100) }

func (r rule) delay() time.Duration {
	switch r {
	case comeLate:
		return lateBy
	case delayCallback:
		return delayBy
	}
	return 0
}

func (r rule) copies() int {
	if r == floodCallback {
		return floodOf
	}
	return 1
}

// said is the amount that the callback names.
func (r rule) said(amount money.Money) money.Money {
	switch {
	case r == shortCallback:
		amount.Minor--
	case r == foreignAmount && amount.Currency == "USD":
		amount.Currency = "CNY"
	case r == foreignAmount:
		amount.Currency = "USD"
	}
	return amount
}
