package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of a basket.
const (
	MaxQty   = 999 // most units of one SKU, after merging
	MaxLines = 50  // most lines of one basket, before merging
)

// Line is one SKU of a basket and its quantity in units.
type Line struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// Basket checks lines as they came in and returns them merged (the same SKU
// twice is one line with the sum) and sorted by SKU. Merging comes before any
// stock check: two lines of 2 against a stock of 3 must be short. Errors are
// *FieldError and name the line.
func Basket(lines []Line) ([]Line, error) {
	if len(lines) == 0 {
		return nil, &FieldError{Path: "lines", Problem: "must hold at least one line"}
	}
	if len(lines) > MaxLines {
		return nil, &FieldError{Path: "lines", Problem: fmt.Sprintf("must hold at most %d lines", MaxLines)}
	}
	merged := make([]Line, 0, len(lines))
	for i, l := range lines {
		if !ValidSKU(l.SKU) {
			return nil, &FieldError{Path: fmt.Sprintf("lines[%d].sku", i), Problem: "must be 1 to 64 letters, digits, '.', '_' or '-'"}
		}
		if l.Qty < 1 || l.Qty > MaxQty {
			return nil, &FieldError{Path: fmt.Sprintf("lines[%d].qty", i), Problem: fmt.Sprintf("must be an integer from 1 to %d", MaxQty)}
		}
		at := slices.IndexFunc(merged, func(m Line) bool { return m.SKU == l.SKU })
		if at < 0 {
			merged = append(merged, l)
			continue
		}
		if merged[at].Qty += l.Qty; merged[at].Qty > MaxQty {
			return nil, &FieldError{Path: fmt.Sprintf("lines[%d].qty", i), Problem: fmt.Sprintf("brings %s over %d units", l.SKU, MaxQty)}
		}
	}
	slices.SortFunc(merged, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return merged, nil
}
