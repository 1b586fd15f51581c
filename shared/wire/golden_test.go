package wire

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "write testdata anew; a changed file is a changed wire")

const (
	goldenID    = "01890a5d-ac96-774b-bcce-b302099a8057"
	goldenEpoch = "0b9d1c2e-3f4a-4b5c-8d6e-7f8091a2b3c4"
)

// goldens has every message there is, with every field set.
func goldens() map[string]any {
	lines := []Line{{SKU: "cola", Qty: 2}, {SKU: "water-0.5", Qty: 999}}
	return map[string]any{
		"order": &Event{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, At: 1_700_000_000_123,
			Order: &Order{User: "u1", Lines: lines}},
		"fact_sale": &Event{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 9007199254740993, At: -1,
			Fact: &Fact{Kind: FactSale, Lines: lines}},
		"fact_restock": &Event{V: 1, ID: goldenID, Cabinet: "a-b_9", Epoch: goldenEpoch, Seq: 2,
			Fact: &Fact{Kind: FactRestock, Lines: lines}},
		"order_priced": &Event{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, At: 1_700_000_000_123,
			Order: &Order{User: "u1", Lines: lines, PricedAt: 7}},
		"fact_restock_counted": fact(Fact{Kind: FactRestock, Lines: lines, Counts: []Count{{SKU: "cola", Units: 0}, {SKU: "water-0.5", Units: 3}}, Upto: 41}),
		"fact_stocktake":       fact(Fact{Kind: FactStocktake, Counts: []Count{{SKU: "cola", Units: 0}, {SKU: "water-0.5", Units: 12}}, Upto: 41}),
		"fact_dispense": fact(Fact{Kind: FactDispense, Dispense: &Dispense{Command: goldenEpoch, Order: goldenID, Lines: []DispenseLine{
			{SKU: "cola", State: Failed, Units: 1, Detail: "motor stalled"}, {SKU: "water-0.5", State: Dispensed, Units: 2}}}}),
		"fact_slot_fault": fact(Fact{Kind: FactSlotFault, Slot: "A1", Fault: "jammed"}),
		"fact_door":       fact(Fact{Kind: FactDoor, Door: "open"}),
		"fact_planogram":  fact(Fact{Kind: FactPlanogram, Planogram: 7}),
		"ask":             &Ask{V: 1, Cabinet: "C001", ID: goldenID},
		"command_wake":    &Command{V: 1, Cabinet: "C001", Kind: CommandWake},
		"command_dispense": &Command{V: 1, Cabinet: "C001", Kind: CommandDispense, Ask: goldenEpoch,
			Dispense: []Vend{{ID: goldenEpoch, Order: goldenID, Lines: lines, ExpiresIn: 55_000}}},
		"command_planogram": &Command{V: 1, Cabinet: "C001", Kind: CommandPlanogram, Planogram: &Planogram{Version: 7,
			Slots: []Slot{{Slot: "A1", SKU: "cola", Capacity: 12, Price: 350, Currency: "CNY"}}}},
		"command_allowance": &Command{V: 1, Cabinet: "C001", Kind: CommandStock,
			Stock: []StockLine{{SKU: "cola", Name: "Cola 0.33", Sellable: 7, Price: 350, Currency: "CNY", Allowance: 2}}, Counted: &Counted{Epoch: goldenEpoch, From: 3, Sales: []int64{4, 9}}},
		"verdict_price_changed": &Verdict{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, Code: CodePriceChanged,
			Prices: []Price{{SKU: "cola", Price: 400, Currency: "CNY"}}, PricedAt: 8},
		"verdict_accepted": &Verdict{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, Code: Accepted,
			Status: "PRE_RESERVED", Amount: 1750, Currency: "CNY", ExpiresIn: 300_000},
		"verdict_short": &Verdict{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, Code: CodeStockShort,
			Detail: "可乐 <2> & more", Short: []Shortage{{SKU: "cola", Want: 2, Have: 1}}},
		"verdict_fenced": &Verdict{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 1, Code: CodeFenced, Retryable: true},
		"ack":            &Ack{V: 1, Cabinet: "C001", Epoch: goldenEpoch, Seqs: []int64{1, 2, 9007199254740993}},
		"beat": &Beat{V: 1, Cabinet: "C001", Session: goldenID, Epoch: goldenEpoch, At: 1_700_000_000_123, Depth: 3,
			Parked: 1, Uptime: 15_000},
		"state_birth": &State{V: 1, Cabinet: "C001", Session: goldenID, Online: true, Epoch: goldenEpoch, Gap: true, Agent: "v1.0.0"},
		"state_will":  &State{V: 1, Cabinet: "C001", Session: goldenID, Epoch: goldenEpoch, Agent: "v1.0.0"},
		"command_stock": &Command{V: 1, Cabinet: "C001", Kind: CommandStock,
			Stock: []StockLine{{SKU: "cola", Name: "Cola 0.33", Sellable: 7, Price: 350, Currency: "CNY"}}},
	}
}

func fact(f Fact) *Event {
	return &Event{V: 1, ID: goldenID, Cabinet: "C001", Epoch: goldenEpoch, Seq: 42, At: 1_700_000_000_123, Fact: &f}
}

func TestEveryFactInTheGoldensIsPossible(t *testing.T) {
	for name, message := range goldens() {
		e, ok := message.(*Event)
		if !ok {
			continue
		}
		channel := ChannelOrder
		if e.Fact != nil {
			channel = ChannelFact
		}
		if _, err := DecodeEvent(Encode(e), e.Cabinet, channel); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryMessageKeepsItsBytes(t *testing.T) {
	for name, message := range goldens() {
		path := filepath.Join("testdata", name+".json")
		got := append(Encode(message), '\n')
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: cabinets in the field speak\n%snow it would be\n%s", name, want, got)
		}
		back := reflect.New(reflect.TypeOf(message).Elem()).Interface()
		if err := Decode(want, MaxMessage, back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(back, message) {
			t.Errorf("%s: read back as %+v", name, back)
		}
	}
}

func TestNoGoldenIsForgotten(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(goldens()) {
		t.Errorf("%d files for %d messages", len(files), len(goldens()))
	}
}
