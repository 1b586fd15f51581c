package scan

import (
	"testing"

	"vendline/shared/wire"
)

func TestEveryKindOfFactThatACabinetOwnsIsKept(t *testing.T) {
	r := start(t, nil)
	for i, body := range []string{
		`{"kind":"restock","lines":[{"sku":"cola","qty":20}]}`,
		`{"kind":"restock","lines":[{"sku":"cola","qty":20}],"quantity_before":[{"sku":"water","units":3},{"sku":"cola","units":0}]}`,
		`{"kind":"sale","lines":[{"sku":"cola","qty":1}]}`,
		`{"kind":"stocktake","counts":[{"sku":"cola","units":0}]}`,
		`{"kind":"stocktake","counts":[{"sku":"cola","units":5}],"upto":2}`,
		`{"kind":"slot_fault","slot":"A1","fault":"jammed"}`,
		`{"kind":"slot_fault","slot":"A1","fault":""}`,
		`{"kind":"door","door":"open"}`,
	} {
		if resp, got := r.do(t, "POST", "/v1/facts", body); resp.StatusCode != 202 || got["seq"] != float64(i+1) {
			t.Errorf("%s: %d %v", body, resp.StatusCode, got)
		}
	}
	rows, err := r.box.Pending(0, 100)
	if err != nil || len(rows) != 8 {
		t.Fatal(len(rows), err)
	}
	restock, taken, known := rows[1].Fact, rows[3].Fact, rows[4].Fact
	if restock.Upto != 1 || restock.Counts[0] != (wire.Count{SKU: "cola"}) || taken.Upto != 3 || known.Upto != 2 || rows[0].Fact.Upto != 0 {
		t.Fatalf("%+v, %+v, %+v", restock, taken, known)
	}
	for _, row := range rows {
		if _, err := wire.DecodeEvent(wire.Encode(r.box.Event(row)), "C001", wire.ChannelFact); err != nil {
			t.Errorf("the cloud could not read row %d: %v", row.Seq, err)
		}
	}
}

func TestAFactThatMakesNoSenseNamesTheField(t *testing.T) {
	r := start(t, nil)
	for body, field := range map[string]string{
		`{"kind":"dispense"}`:                      "kind",
		`{"kind":"planogram"}`:                     "kind",
		`{"kind":"drift"}`:                         "kind",
		`{"kind":"sale"}`:                          "lines",
		`{"kind":"restock","lines":[]}`:            "lines",
		`{"kind":"stocktake"}`:                     "counts",
		`{"kind":"stocktake","counts":[]}`:         "counts",
		`{"kind":"slot_fault","slot":"A1"}`:        "fault",
		`{"kind":"slot_fault","fault":"x"}`:        "slot",
		`{"kind":"door","door":"ajar"}`:            "door",
		`{"kind":"door","door":"open","slot":"A"}`: "slot",
		`{"kind":"door","door":"open","fault":""}`: "fault",
		`{"kind":"sale","lines":[{"sku":"a","qty":1}],"quantity_before":[{"sku":"a","units":1}]}`:     "quantity_before",
		`{"kind":"restock","lines":[{"sku":"a","qty":1}],"counts":[{"sku":"a","units":1}]}`:           "counts",
		`{"kind":"restock","lines":[{"sku":"a","qty":1}],"quantity_before":[{"sku":"a","units":-1}]}`: "quantity_before[0].units",
		`{"kind":"restock","lines":[{"sku":"a","qty":1}],"upto":1}`:                                   "upto",
		`{"kind":"stocktake","counts":[{"sku":"a","units":1}],"upto":1}`:                              "upto",
		`{"kind":"stocktake","counts":[{"sku":"a","units":1}],"upto":-1}`:                             "upto",
		`{"kind":"stocktake","counts":[{"sku":"a","units":1},{"sku":"a","units":1}]}`:                 "counts",
		`{"kind":"stocktake","counts":[{"sku":"a","units":1.5}]}`:                                     "counts[0].units",
	} {
		resp, p := r.do(t, "POST", "/v1/facts", body)
		if resp.StatusCode != 400 || p["code"] != "invalid_request" || p["field"] != field {
			t.Errorf("%s: %d %v, want %s blamed", body, resp.StatusCode, p, field)
		}
	}
	if r.box.Depth() != 0 {
		t.Fatalf("%d rows of nonsense", r.box.Depth())
	}
}
