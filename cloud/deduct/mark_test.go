package deduct

import (
	"reflect"
	"testing"

	"vendline/shared/wire"
)

func TestAMarkerComesBackAsItWasWritten(t *testing.T) {
	for _, m := range []Mark{
		{State: Held, Version: 3, Ticket: 1 << 52, User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 2}, {SKU: "tea.x", Qty: 999}}, window: "1700000000000"},
		{State: Released, Version: 1, User: "a|b|c", Lines: []wire.Line{{SKU: "cola", Qty: 1}}},
		{State: Done, Version: 1, Ticket: 9, Lines: []wire.Line{{SKU: "cola", Qty: -7}}},
		{State: Done, Version: 1},
	} {
		text := m.encode("cab.fleet")
		got, err := decodeMark(text)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%q: got %+v %v, want %+v", text, got, err, m)
		}
	}
}

func TestTextThatIsNoMarkerIsAnError(t *testing.T) {
	for _, text := range []string{"", "g|held|1|0||cola,1", "g|held|x|0||cola,1|ann", "g|held|1|x||cola,1|ann", "g|held|1|0||cola|ann", "g|held|1|0||cola,x|ann"} {
		if m, err := decodeMark(text); err == nil {
			t.Errorf("%q was read as %+v", text, m)
		}
	}
}

func TestABasketIsComparedMergedAndSorted(t *testing.T) {
	lines := []wire.Line{{SKU: "tea", Qty: 1}, {SKU: "cola", Qty: 2}}
	if got := basket(lines); got != "cola,2,tea,1" {
		t.Errorf("got %q", got)
	}
	if lines[0].SKU != "tea" {
		t.Error("the caller's lines were moved")
	}
}
