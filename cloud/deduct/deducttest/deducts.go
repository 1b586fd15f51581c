package deducttest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

func deducts() []Promise {
	return []Promise{
		{"a basket is taken whole", wholeBasket},
		{"a short basket names every short SKU and takes nothing", shortBasket},
		{"two lines of one SKU count together", unmergedBasket},
		{"a SKU that is not sold here is named", unknownSKU},
		{"no basket reaches the reserved fields", reservedFields},
		{"a basket that is empty or out of bounds is refused", outOfBounds},
		{"a retry of the order that took the last unit hears its first yes", lastUnitRetry},
		{"an id with another basket or user is a conflict", otherContent},
		{"a refusal leaves no marker", refusalThenYes},
		{"a deduct moves stock by state and version", deductMatrix},
		{"a retry draws a new ticket after a release", retryAfterRelease},
		{"tickets rise by one from 1 in each generation", tickets},
		{"a cabinet that is not loaded takes nothing", notLoaded},
		{"any user name comes back as it was", anyUser},
	}
}

func wholeBasket(t T, f *Fixture) {
	generation := f.load(units{"cola": 5, "water": 3})
	got := f.take("o1", 1, item("cola", 2), item("water", 3))
	if want := (order.Taken{Run: order.Run{Generation: generation, Ticket: 1}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	f.left(units{"cola": 3, "water": 0})
}

func shortBasket(t T, f *Fixture) {
	f.load(units{"cola": 1, "tea": 9, "water": -2})
	no := f.refuse(wire.CodeStockShort, f.basket("o1", 1, item("cola", 2), item("tea", 1), item("water", 1)))
	if want := []wire.Shortage{{SKU: "cola", Want: 2, Have: 1}, {SKU: "water", Want: 1, Have: 0}}; !slices.Equal(no.Short, want) {
		t.Errorf("short %+v, want %+v", no.Short, want)
	}
}

func unmergedBasket(t T, f *Fixture) {
	f.load(units{"cola": 3})
	no := f.refuse(wire.CodeStockShort, f.basket("o1", 1, item("cola", 2), item("cola", 2)))
	if want := []wire.Shortage{{SKU: "cola", Want: 4, Have: 3}}; !slices.Equal(no.Short, want) {
		t.Errorf("short %+v, want %+v", no.Short, want)
	}
	if code, rest := f.rawDeduct("o1", "1", "ann", "cola", "2", "cola", "2"); code != 400 || fmt.Sprint(rest) != "[cola]" {
		t.Errorf("the script itself answers %d %v", code, rest)
	}
	f.left(units{"cola": 3})
}

func unknownSKU(t T, f *Fixture) {
	f.load(units{"cola": 3})
	no := f.refuse(wire.CodeSKUUnknown, f.basket("o1", 1, item("cola", 1), item("tea", 1)))
	if want := "tea is not sold by this cabinet"; no.Detail != want {
		t.Errorf("detail %q, want %q", no.Detail, want)
	}
}

func reservedFields(_ T, f *Fixture) {
	f.load(units{"cola": 3})
	for _, field := range []string{"#mut", "#ticket", "#gen"} {
		f.refuse(wire.CodeSKUUnknown, f.basket("o1", 1, item(field, 1)))
	}
}

func outOfBounds(t T, f *Fixture) {
	f.load(units{"cola": math.MaxInt32})
	f.refuse(wire.CodeInvalidRequest, f.basket("o1", 1))
	for _, qty := range []int{0, -1, -5, 1000, math.MaxInt32, math.MaxInt, math.MinInt} {
		f.refuse(wire.CodeInvalidRequest, f.basket("o1", 1, item("cola", qty)))
	}
	for _, version := range []int64{0, -1, math.MaxInt64} {
		f.refuse(wire.CodeInvalidRequest, f.basket("o1", version, item("cola", 1)))
	}
	for _, qty := range []string{"", "1.5", "1e2", " 1", "1 ", "01", "0x1", "nan", "inf", "null", "+1", "9007199254740993"} {
		if code, rest := f.rawDeduct("o1", "1", "ann", "cola", qty); code != 400 {
			t.Errorf("quantity %q: the script answers %d %v", qty, code, rest)
		}
	}
	f.take("o1", 1, item("cola", 999))
}

func lastUnitRetry(t T, f *Fixture) {
	f.load(units{"cola": 1})
	first := f.take("o1", 1, item("cola", 1))
	f.refuse(wire.CodeStockShort, f.basket("o2", 1, item("cola", 1)))
	for range 3 {
		if again := f.take("o1", 1, item("cola", 1)); again.Run != first.Run || !again.Seen || again.Released {
			t.Errorf("retry heard %+v, first %+v", again, first)
		}
	}
	f.left(units{"cola": 0})
}

func otherContent(_ T, f *Fixture) {
	f.load(units{"cola": 5, "water": 5})
	f.take("o1", 1, item("cola", 1))
	for _, version := range []int64{1, 2} {
		f.refuse(wire.CodeIdempotencyConflict, f.basket("o1", version, item("cola", 2)))
		f.refuse(wire.CodeIdempotencyConflict, f.basket("o1", version, item("water", 1)))
		f.refuse(wire.CodeIdempotencyConflict, f.basket("o1", version, item("cola", 1), item("water", 1)))
		other := f.basket("o1", version, item("cola", 1))
		other.User = "bob"
		f.refuse(wire.CodeIdempotencyConflict, other)
	}
	f.take("o1", 1, item("cola", 1))
	f.left(units{"cola": 4, "water": 5})
}

func refusalThenYes(t T, f *Fixture) {
	f.load(units{"cola": 1})
	f.refuse(wire.CodeStockShort, f.basket("o1", 1, item("cola", 2)))
	if got := f.take("o1", 1, item("cola", 1)); got.Seen || got.Ticket != 1 {
		t.Errorf("after a refusal: %+v", got)
	}
}

func retryAfterRelease(t T, f *Fixture) {
	f.load(units{"cola": 2})
	f.take("o1", 1, item("cola", 2))
	f.release("o1", 2, wire.Line{SKU: "cola", Qty: 2})
	if got := f.take("o1", 3, item("cola", 2)); got.Seen || got.Ticket != 2 {
		t.Errorf("retry after a release: %+v", got)
	}
	f.left(units{"cola": 0})
}

func tickets(t T, f *Fixture) {
	for range 3 {
		f.load(units{"cola": 100})
		for want := range int64(20) {
			if got := f.take(fmt.Sprint("o", want), 1, item("cola", 1)); got.Ticket != want+1 {
				t.Fatalf("ticket %d, want %d", got.Ticket, want+1)
			}
		}
	}
}

func notLoaded(t T, f *Fixture) {
	_, err := f.Stock.Deduct(t.Context(), f.basket("o1", 1, item("cola", 1)))
	if !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("got %v, want ErrNotLoaded", err)
	}
	if all := f.everything(); len(all) != 0 {
		t.Errorf("left behind: %v", all)
	}
}

func anyUser(t T, f *Fixture) {
	f.load(units{"cola": 9})
	for i, user := range []string{"", "a|b|c", "held|1", "x,y", "名前", "a\nb"} {
		b := f.basket(fmt.Sprint("o", i), 1, atMost(5, "cola", 1))
		b.User = user
		for _, seen := range []bool{false, true} {
			if got, err := f.Stock.Deduct(t.Context(), b); err != nil || got.Seen != seen {
				t.Errorf("user %q: %+v %v", user, got, err)
			}
		}
		if got := f.look(b.ID).Marks[b.ID].User; got != user {
			t.Errorf("user %q came back as %q", user, got)
		}
	}
}
