package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of a fact.
const (
	MaxUnits  = 99999 // most units that a count may find
	MaxDetail = 200   // longest text for people, in bytes
	MaxSlot   = 32    // longest name of a slot
)

// Check finds what makes a fact impossible, and brings it into its one form:
// lines merged, counts sorted by SKU. Errors are *FieldError.
func (f *Fact) Check() (err error) {
	allowed, ok := map[FactKind][]string{
		FactRestock: {"lines", "counts", "upto"}, FactSale: {"lines"}, FactStocktake: {"counts", "upto"}, FactDispense: {"dispense"},
		FactSlotFault: {"slot", "fault"}, FactDoor: {"door"}, FactPlanogram: {"planogram"},
	}[f.Kind]
	if !ok {
		return &FieldError{Path: "fact.kind", Problem: "must be restock, sale, stocktake, dispense, slot_fault, door or planogram"}
	}
	for field, there := range map[string]bool{
		"lines": f.Lines != nil, "counts": f.Counts != nil, "upto": f.Upto != 0, "dispense": f.Dispense != nil,
		"slot": f.Slot != "", "fault": f.Fault != "", "door": f.Door != "", "planogram": f.Planogram != 0,
	} {
		if there && !slices.Contains(allowed, field) {
			return &FieldError{Path: "fact." + field, Problem: "has no place in a " + string(f.Kind) + " fact"}
		}
	}
	switch f.Kind {
	case FactRestock, FactSale:
		if f.Lines, err = Basket(f.Lines); err != nil {
			return err
		}
		return f.checkCounts(false)
	case FactStocktake:
		return f.checkCounts(true)
	case FactDispense:
		return f.Dispense.check()
	case FactSlotFault:
		if !ValidSlot(f.Slot) {
			return &FieldError{Path: "fact.slot", Problem: "must be 1 to 32 letters, digits, '.', '_' or '-'"}
		}
		return text("fact.fault", f.Fault)
	case FactDoor:
		if f.Door != "open" && f.Door != "closed" {
			return &FieldError{Path: "fact.door", Problem: "must be open or closed"}
		}
	case FactPlanogram:
		if f.Planogram < 1 {
			return &FieldError{Path: "fact.planogram", Problem: "must be 1 or more"}
		}
	}
	return nil
}

func (f *Fact) checkCounts(required bool) error {
	if required && len(f.Counts) == 0 || len(f.Counts) > MaxLines {
		return &FieldError{Path: "fact.counts", Problem: fmt.Sprintf("must hold 1 to %d SKUs", MaxLines)}
	}
	if f.Upto < 0 {
		return &FieldError{Path: "fact.upto", Problem: "must be 0 or more"}
	}
	for i, c := range f.Counts {
		if !ValidSKU(c.SKU) {
			return &FieldError{Path: fmt.Sprintf("fact.counts[%d].sku", i), Problem: "must be 1 to 64 letters, digits, '.', '_' or '-'"}
		}
		if c.Units < 0 || c.Units > MaxUnits {
			return &FieldError{Path: fmt.Sprintf("fact.counts[%d].units", i), Problem: fmt.Sprintf("must be an integer from 0 to %d", MaxUnits)}
		}
	}
	slices.SortFunc(f.Counts, func(a, b Count) int { return strings.Compare(a.SKU, b.SKU) })
	for i := 1; i < len(f.Counts); i++ {
		if f.Counts[i].SKU == f.Counts[i-1].SKU {
			return &FieldError{Path: "fact.counts", Problem: "counts " + f.Counts[i].SKU + " twice"}
		}
	}
	return nil
}

func (d *Dispense) check() error {
	switch {
	case d == nil:
		return &FieldError{Path: "fact.dispense", Problem: "is missing"}
	case !ValidID(d.Command):
		return &FieldError{Path: "fact.dispense.command", Problem: "must be a lower-case UUID"}
	case !ValidID(d.Order):
		return &FieldError{Path: "fact.dispense.order", Problem: "must be a lower-case UUID"}
	case len(d.Lines) == 0 || len(d.Lines) > MaxLines:
		return &FieldError{Path: "fact.dispense.lines", Problem: fmt.Sprintf("must hold 1 to %d lines", MaxLines)}
	}
	for i, l := range d.Lines {
		at := fmt.Sprintf("fact.dispense.lines[%d]", i)
		switch {
		case !ValidSKU(l.SKU):
			return &FieldError{Path: at + ".sku", Problem: "must be 1 to 64 letters, digits, '.', '_' or '-'"}
		case !slices.Contains([]DispenseState{Dispensed, Failed, Expired, Uncertain}, l.State):
			return &FieldError{Path: at + ".state", Problem: "must be dispensed, failed, expired or unknown"}
		case l.Units < 0 || l.Units > MaxQty || l.State == Expired && l.Units != 0:
			return &FieldError{Path: at + ".units", Problem: "is not a number of units that can have dropped"}
		case slices.ContainsFunc(d.Lines[:i], func(before DispenseLine) bool { return before.SKU == l.SKU }):
			return &FieldError{Path: at + ".sku", Problem: "stands in two lines"}
		}
		if err := text(at+".detail", l.Detail); err != nil {
			return err
		}
	}
	slices.SortFunc(d.Lines, func(a, b DispenseLine) int { return strings.Compare(a.SKU, b.SKU) })
	return nil
}

func text(path, s string) error {
	if len(s) > MaxDetail {
		return &FieldError{Path: path, Problem: fmt.Sprintf("must be at most %d bytes", MaxDetail)}
	}
	return nil
}
