// Package audit says what the ledger's own books are checked for, and what comes
// of it: the stock rows against the deduct log, the log against orders and facts,
// money against lines, and each day's totals. An audit repairs nothing; each
// difference is a case for a person.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"vendline/cloud/order"
)

// Difference is one thing that the books do not agree on.
type Difference struct {
	Rule    string // short and stable, such as "stock_unexplained"
	Subject string // what it is about: an id, "cabinet/sku" or a day
	Order   string // if there is one
	Cabinet string // likewise
	Detail  string // in words
}

// Day is what was ordered, and the money of it, on a day in UTC.
type Day struct {
	Day      time.Time
	Currency string
	Orders   int64
	Units    int64
	Consumed int64 // of Orders: paid
	Captured int64 // minor units
	Refunded int64
	At       time.Time // when it was audited
}

// Findings of an audit.
type Findings struct {
	Differences []Difference
	Days        []Day
	More        bool // a rule found more than it names
}

// Books are the ledger's.
type Books interface {
	// Audit reads everything since a time, naming at most most differences a rule,
	// and keeps the days' totals.
	Audit(ctx context.Context, since time.Time, most int) (Findings, error)
	// OpenCase calls a person, once per kind and subject.
	OpenCase(ctx context.Context, c order.Case) error
}

// Window is how far back orders and facts are compared, and Most how many
// differences of a rule are named. Stock rows, and money, are compared as a whole.
const (
	Window = 35 * 24 * time.Hour
	Most   = 50
)

// Run audits the books and opens a case for each difference. It changes nothing
// else, so that it may be run at any time, and again when it died.
func Run(ctx context.Context, b Books, now time.Time) (Findings, error) {
	f, err := b.Audit(ctx, now.Add(-Window), Most)
	if err != nil {
		return f, err
	}
	for _, d := range f.Differences {
		if err := b.OpenCase(ctx, CaseOf(d)); err != nil {
			return f, fmt.Errorf("open a case for %s of %s: %w", d.Rule, d.Subject, err)
		}
	}
	return f, nil
}

// longest is what a case's subject has room for.
const longest = 80

// CaseOf is the case of a difference.
func CaseOf(d Difference) order.Case {
	s := d.Rule + "/" + d.Subject
	if len(s) > longest {
		sum := sha256.Sum256([]byte(s))
		s = s[:longest-17] + "~" + hex.EncodeToString(sum[:8])
	}
	return order.Case{Kind: order.CaseBooks, Subject: s, Order: d.Order, Cabinet: d.Cabinet, Detail: d.Detail}
}
