// Package allowance lets a cabinet sell while it can not ask: within units that
// the cloud has granted for that, and never one more.
//
// # Why a new grant never sells a unit twice
//
// A grant is what the cloud sets aside at one instant, knowing of some of our
// offline sales and not of others. Those it knew of are in its number already;
// the others have to come off. So it says which ones it knew of (wire.Counted),
// and we take off all the rest, in whatever order grants and acknowledgements
// arrive, from however many processes. The same grant heard twice, or one that
// waited at the broker while we were away, is no different: what was sold since
// is not named in it. One that lacks a sale which an earlier one named is older
// than that, and void. A sale that the cloud buried is never named and comes off
// every grant until somebody sees to it: the unit is gone all the same.
package allowance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Durable steps, for tests.
const (
	StepGrant outbox.Step = "grant"
	StepSell  outbox.Step = "offline sale"
)

// ErrExceeded is returned by Sell when some SKU has not enough left.
var ErrExceeded = errors.New("allowance: exceeded")

// Box is the outbox as the allowance needs it. *outbox.Outbox is one.
type Box interface {
	Write(ctx context.Context, step outbox.Step, work func(*outbox.Tx) error) error
	Read(fn func(outbox.Books) error) error
}

// Left is what may still be sold of a SKU offline.
type Left struct {
	SKU   string `json:"sku"`
	Units int64  `json:"units"`
}

// Allowance keeps grants and what was sold of them. Safe for concurrent use.
type Allowance struct {
	box Box

	mu    sync.Mutex
	known bool
	left  map[string]int64
	last  string // the last grant, to tell a new one from a repetition
	sales int    // sales of ours that no grant has counted
}

// ledger is the grant as stored.
type ledger struct {
	Left    map[string]int64 `json:"left"`
	Counted *wire.Counted    `json:"counted,omitempty"`
}

// sale is an offline sale that no grant has counted yet.
type sale struct {
	Lines []wire.Line `json:"lines"`
	Epoch string      `json:"epoch,omitempty"`
	Seq   int64       `json:"seq,omitempty"`
}

// in reports whether a grant counts the sale. A cloud that does not say counts
// what it has acknowledged; so does a note from before sales had their seq here.
func (s sale) in(counted *wire.Counted, acked bool) bool {
	if counted == nil || s.Seq == 0 {
		return acked
	}
	return counted.Has(s.Epoch, s.Seq, acked)
}

// The book holds the grant under one key and sales under their event ids.
func keyGrant() []byte { return []byte("grant") }

func keySale(id string) []byte { return []byte("sale/" + id) }

// Open reads what is left in box.
func Open(box Box) (*Allowance, error) {
	a := &Allowance{box: box}
	err := box.Read(func(b outbox.Books) error {
		l, known, err := read(b)
		a.known, a.left = known, l.Left
		b.Each(outbox.BookAllowance, func(key, _ []byte, _ error) bool {
			if strings.HasPrefix(string(key), "sale/") {
				a.sales++
			}
			return true
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("allowance: read: %w", err)
	}
	return a, nil
}

// read takes a damaged grant for none: nothing may be sold on a guess.
func read(b outbox.Books) (l ledger, known bool, err error) {
	v, err := b.Get(outbox.BookAllowance, keyGrant())
	if errors.Is(err, outbox.ErrUnreadable) || err == nil && v == nil {
		return l, false, nil
	}
	if err != nil {
		return l, false, err
	}
	if err := json.Unmarshal(v, &l); err != nil {
		return ledger{}, false, nil
	}
	return l, true, nil
}

// Left is what may still be sold, by SKU; known is false if no grant was heard.
func (a *Allowance) Left() (left []Left, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left = []Left{}
	for _, sku := range slices.Sorted(maps.Keys(a.left)) {
		left = append(left, Left{sku, a.left[sku]})
	}
	return left, a.known
}

// Grant takes what the cloud grants now, in place of what it granted before. A
// SKU that is not named may not be sold offline. counted names our sales that are
// in it.
//
// Dying right before the step leaves the old grant, within which nothing was
// oversold either; dying right after leaves the new one. The cloud grants again
// whenever it speaks of stock.
func (a *Allowance) Grant(ctx context.Context, stock []wire.StockLine, counted *wire.Counted) error {
	granted := make(map[string]int64)
	for _, l := range stock {
		if l.Allowance > 0 && wire.ValidSKU(l.SKU) {
			granted[l.SKU] = l.Allowance
		}
	}
	if a.repeated(granted) {
		return nil
	}
	return a.box.Write(context.WithoutCancel(ctx), StepGrant, func(tx *outbox.Tx) error {
		last, _, err := read(tx.Books)
		if err != nil {
			return err
		}
		if counted != nil && last.Counted != nil && counted.Before(*last.Counted) {
			return nil
		}
		left, waiting, gone := maps.Clone(granted), 0, [][]byte(nil)
		tx.Each(outbox.BookAllowance, func(key, v []byte, damage error) bool {
			id, ok := strings.CutPrefix(string(key), "sale/")
			var s sale
			switch {
			case !ok:
			case damage != nil || json.Unmarshal(v, &s) != nil || s.in(counted, tx.Taken(id)):
				gone = append(gone, slices.Clone(key))
			default:
				waiting++
				for _, l := range s.Lines {
					if n, ok := left[l.SKU]; ok {
						left[l.SKU] = max(n-int64(l.Qty), 0)
					}
				}
			}
			return true
		})
		body, err := json.Marshal(ledger{left, counted})
		if err != nil {
			return err
		}
		for _, key := range gone {
			if err := tx.Delete(outbox.BookAllowance, key); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { a.set(left, waiting, fmt.Sprint(granted)) })
		return tx.Put(outbox.BookAllowance, keyGrant(), body)
	})
}

// repeated reports whether a grant says nothing new, so that stock that is told
// with every sale does not cost a write each time.
func (a *Allowance) repeated(granted map[string]int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known && a.sales == 0 && a.last == fmt.Sprint(granted)
}

func (a *Allowance) set(left map[string]int64, sales int, last string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known, a.left, a.sales, a.last = true, left, sales, last
}

// Sell takes the lines of a sale fact out of the allowance, all or none, and
// appends the event. The same event again gets the same receipt and takes
// nothing. ErrExceeded comes with what is left (Left).
//
// Promised: allowance, event and the note of the sale are one commit. Dying
// right before leaves all of it unsold, and the firmware, which got no answer,
// has dropped nothing; dying right after leaves a sale that the cloud will hear
// of, and the firmware hears the same receipt when it asks again.
func (a *Allowance) Sell(ctx context.Context, e outbox.Entry) (r outbox.Receipt, err error) {
	err = a.box.Write(context.WithoutCancel(ctx), StepSell, func(tx *outbox.Tx) error {
		var again bool
		if r, again, err = tx.Repeated(e); err != nil || again {
			return err
		}
		l, known, err := read(tx.Books)
		if err != nil {
			return err
		}
		left := maps.Clone(l.Left)
		for _, line := range e.Fact.Lines {
			if !known || left[line.SKU] < int64(line.Qty) {
				return fmt.Errorf("%w: %s", ErrExceeded, line.SKU)
			}
			left[line.SKU] -= int64(line.Qty)
		}
		body, err := json.Marshal(ledger{left, l.Counted})
		if err != nil {
			return err
		}
		// It has not happened yet: with little room left it shall not.
		if r, err = tx.Append(e, outbox.ShareOrder); err != nil {
			return err
		}
		noted, err := json.Marshal(sale{e.Fact.Lines, r.Epoch, r.Seq})
		if err != nil {
			return err
		}
		if err := tx.Put(outbox.BookAllowance, keyGrant(), body); err != nil {
			return err
		}
		tx.OnCommit(func() { a.sold(left) })
		return tx.Put(outbox.BookAllowance, keySale(e.ID), noted)
	})
	return r, err
}

func (a *Allowance) sold(left map[string]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = left
	a.sales++
}

// Repeated reports whether e is a sale that was made before.
func (a *Allowance) Repeated(e outbox.Entry) (r outbox.Receipt, yes bool, err error) {
	err = a.box.Read(func(b outbox.Books) (err error) { r, yes, err = b.Repeated(e); return err })
	return r, yes, err
}
