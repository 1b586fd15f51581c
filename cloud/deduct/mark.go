package deduct

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vendline/shared/wire"
)

// States of a marker.
const (
	Held     = "held"     // an order's units are taken
	Released = "released" // they were given back, or never taken
	Done     = "done"     // a fact's or a repair's units are added
)

// Mark is what Redis knows of an id under the stock's generation.
type Mark struct {
	State   string
	Version int64
	Ticket  int64 // 0 when none was drawn
	User    string
	Lines   []wire.Line // signed units when Done; none for a fact that a rebuild counted
	window  string      // start of the purchase limit's 24 hours it was counted in, Unix ms
}

// encode writes a marker as the scripts read it.
func (m Mark) encode(generation string) string {
	return generation + "|" + m.State + "|" + strconv.FormatInt(m.Version, 10) + "|" + strconv.FormatInt(m.Ticket, 10) +
		"|" + m.window + "|" + basket(m.Lines) + "|" + m.User
}

// decodeMark reads a marker. User comes last, so it may hold any character.
func decodeMark(text string) (Mark, error) {
	f := strings.SplitN(text, "|", 7)
	if len(f) != 7 {
		return Mark{}, fmt.Errorf("deduct: not a marker: %q", text)
	}
	m := Mark{State: f[1], window: f[4], User: f[6]}
	var err error
	if m.Version, err = strconv.ParseInt(f[2], 10, 64); err == nil {
		if m.Ticket, err = strconv.ParseInt(f[3], 10, 64); err == nil {
			m.Lines, err = unbasket(f[5])
		}
	}
	if err != nil {
		return Mark{}, fmt.Errorf("deduct: not a marker: %q: %w", text, err)
	}
	return m, nil
}

// basket is the canonical text of lines: merged and sorted by SKU they come
// from wherever a basket is decided.
func basket(lines []wire.Line) string {
	var b strings.Builder
	for i, l := range sorted(lines) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.SKU)
		b.WriteByte(',')
		b.WriteString(strconv.Itoa(l.Qty))
	}
	return b.String()
}

func unbasket(text string) ([]wire.Line, error) {
	if text == "" {
		return nil, nil
	}
	f := strings.Split(text, ",")
	if len(f)%2 != 0 {
		return nil, fmt.Errorf("basket %q has a SKU without quantity", text)
	}
	lines := make([]wire.Line, len(f)/2)
	for i := range lines {
		qty, err := strconv.Atoi(f[2*i+1])
		if err != nil {
			return nil, fmt.Errorf("basket %q: %w", text, err)
		}
		lines[i] = wire.Line{SKU: f[2*i], Qty: qty}
	}
	return lines, nil
}

func sorted(lines []wire.Line) []wire.Line {
	bySKU := func(a, b wire.Line) int { return strings.Compare(a.SKU, b.SKU) }
	if slices.IsSortedFunc(lines, bySKU) {
		return lines
	}
	lines = slices.Clone(lines)
	slices.SortFunc(lines, bySKU)
	return lines
}
