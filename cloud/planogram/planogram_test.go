package planogram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// set keeps what it was given.
type set struct {
	slots   []wire.Slot
	made    bool
	rebuilt []string
}

func (s *set) SetPlanogram(_ context.Context, _ string, slots []wire.Slot, _ *int64) (int64, bool, error) {
	s.slots = slots
	return 3, s.made, nil
}

func slot(name, sku string, price int64) wire.Slot {
	return wire.Slot{Slot: name, SKU: sku, Capacity: 8, Price: price, Currency: "CNY"}
}

func TestSlotsThatCannotBeAreRefusedByName(t *testing.T) {
	many := make([]wire.Slot, planogram.MaxSlots+1)
	for i := range many {
		many[i] = slot(fmt.Sprintf("S%d", i), "cola", 350)
	}
	change := func(do func(*wire.Slot)) []wire.Slot {
		s := slot("A1", "cola", 350)
		do(&s)
		return []wire.Slot{s}
	}
	for want, slots := range map[string][]wire.Slot{
		"slots":             {},
		"slots ":            many,
		"slots[0].slot":     change(func(s *wire.Slot) { s.Slot = "A 1" }),
		"slots[0].sku":      change(func(s *wire.Slot) { s.SKU = "#gen" }),
		"slots[0].capacity": change(func(s *wire.Slot) { s.Capacity = 0 }),
		"slots[0].price":    change(func(s *wire.Slot) { s.Price = 0 }),
		"slots[0].currency": change(func(s *wire.Slot) { s.Currency = "cny" }),
		"slots[1].slot":     {slot("A1", "cola", 350), slot("A1", "water", 200)},
		"slots[1].price":    {slot("A1", "cola", 350), slot("A2", "cola", 400)},
	} {
		l := &set{}
		_, _, err := (&planogram.Service{Ledger: l}).Set(t.Context(), "C1", slots, nil)
		var field *wire.FieldError
		if !errors.As(err, &field) || field.Path != strings.TrimSpace(want) || l.slots != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSlotsAreKeptInOneOrderAndNewStockIsLoaded(t *testing.T) {
	l := &set{made: true}
	s := &planogram.Service{Ledger: l, Rebuild: func(_ context.Context, c string) error { l.rebuilt = append(l.rebuilt, c); return errors.New("away") }}
	v, made, err := s.Set(t.Context(), "C1", []wire.Slot{slot("B1", "cola", 350), slot("A1", "water", 200), slot("A2", "cola", 350)}, nil)
	if err != nil || v != 3 || !made || !slices.Equal(l.rebuilt, []string{"C1"}) {
		t.Fatalf("%d, %v, rebuilt %v: %v", v, made, l.rebuilt, err)
	}
	if !slices.IsSortedFunc(l.slots, func(a, b wire.Slot) int { return strings.Compare(a.Slot, b.Slot) }) {
		t.Errorf("%v", l.slots)
	}
}

func TestTheLargestPlanogramFitsIntoAMessage(t *testing.T) {
	p := wire.Planogram{Version: 1 << 62}
	for i := range planogram.MaxSlots {
		p.Slots = append(p.Slots, wire.Slot{Slot: fmt.Sprintf("%032d", i), SKU: strings.Repeat("s", 64), Capacity: planogram.MaxCapacity, Price: planogram.MaxPrice, Currency: "CNY"})
	}
	c := wire.Command{V: wire.Version, Cabinet: strings.Repeat("C", 32), Kind: wire.CommandPlanogram, Planogram: &p}
	if n := len(wire.Encode(c)); n > wire.MaxMessage {
		t.Errorf("%d bytes", n)
	}
}
