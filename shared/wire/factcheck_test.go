package wire

import (
	"errors"
	"testing"
)

func TestImpossibleFactsNameTheirField(t *testing.T) {
	cola := []Line{{SKU: "cola", Qty: 1}}
	dispense := func(l ...DispenseLine) *Dispense { return &Dispense{Command: goldenID, Order: goldenID, Lines: l} }
	for want, f := range map[string]Fact{
		"fact.kind":                    {Kind: "party"},
		"lines":                        {Kind: FactSale},
		"fact.counts":                  {Kind: FactStocktake},
		"fact.counts[0].units":         {Kind: FactStocktake, Counts: []Count{{SKU: "cola", Units: -1}}},
		"fact.counts[0].sku":           {Kind: FactStocktake, Counts: []Count{{SKU: "#cola", Units: 1}}},
		"fact.upto":                    {Kind: FactStocktake, Counts: []Count{{SKU: "cola"}}, Upto: -1},
		"fact.lines":                   {Kind: FactDoor, Door: "open", Lines: cola},
		"fact.door":                    {Kind: FactDoor, Door: "ajar"},
		"fact.slot":                    {Kind: FactSlotFault, Slot: "a/b"},
		"fact.planogram":               {Kind: FactPlanogram},
		"fact.dispense":                {Kind: FactDispense},
		"fact.dispense.lines":          {Kind: FactDispense, Dispense: dispense()},
		"fact.dispense.lines[0].state": {Kind: FactDispense, Dispense: dispense(DispenseLine{SKU: "cola", State: "eaten"})},
		"fact.dispense.lines[0].units": {Kind: FactDispense, Dispense: dispense(DispenseLine{SKU: "cola", State: Expired, Units: 1})},
		"fact.dispense.lines[1].sku": {Kind: FactDispense, Dispense: dispense(
			DispenseLine{SKU: "cola", State: Dispensed, Units: 1}, DispenseLine{SKU: "cola", State: Dispensed, Units: 1})},
	} {
		var field *FieldError
		if err := f.Check(); !errors.As(err, &field) || field.Path != want {
			t.Errorf("%+v: got %v, want %s named", f, err, want)
		}
	}
	twice := Fact{Kind: FactStocktake, Counts: []Count{{SKU: "cola", Units: 1}, {SKU: "cola", Units: 2}}}
	if err := twice.Check(); err == nil {
		t.Error("a SKU counted twice has two truths")
	}
}
