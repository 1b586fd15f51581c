package scan

import (
	"fmt"
	"testing"

	"vendline/edge/outbox"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

const colaSale = `{"lines":[{"sku":"cola","qty":1}]}`

func TestAnOfflineSaleNeedsAnAllowanceAndNoCloud(t *testing.T) {
	r := start(t, nil)
	sale := func(body, key string, status int, code string) map[string]any {
		t.Helper()
		resp, got := r.do(t, "POST", "/v1/offline-sales", body, "Idempotency-Key", key)
		if resp.StatusCode != status || code != "" && got["code"] != code || status == 202 && got["status"] != "accepted" {
			t.Fatalf("%s: %d %v, want %d %s", key, resp.StatusCode, got, status, code)
		}
		return got
	}
	if p := sale(colaSale, "a", 409, "allowance_exceeded"); len(p["left"].([]any)) != 0 {
		t.Fatalf("%v", p)
	}
	if err := r.allowance.Grant(t.Context(), []wire.StockLine{{SKU: "cola", Allowance: 2}}, nil); err != nil {
		t.Fatal(err)
	}
	first := sale(colaSale, "b", 202, "")
	r.link.status = uplink.Status{Connected: true}
	sale(colaSale, "c", 409, "online")
	if again := sale(colaSale, "b", 202, ""); again["seq"] != first["seq"] {
		t.Fatalf("made again: %v", again)
	}
	r.link.status.Owed = silence // the broker is there, and nobody behind it
	sale(colaSale, "c", 202, "")
	if p := sale(colaSale, "d", 409, "allowance_exceeded"); fmt.Sprint(p["left"]) != "[map[sku:cola units:0]]" || p["retryable"] != false {
		t.Fatalf("%v", p)
	}
	sale(`{"lines":[{"sku":"cola","qty":2}]}`, "b", 422, "idempotency_conflict")
	sale(`{"lines":[{"sku":"cola","qty":0}]}`, "e", 400, "invalid_request")
	if r.box.Depth() != 2 {
		t.Fatalf("%d events for two sales", r.box.Depth())
	}
	if err := r.box.Settle(t.Context(), []outbox.Answer{{Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, o := r.do(t, "GET", "/v1/orders/"+first["id"].(string), ""); o["status"] != "accepted" {
		t.Fatalf("the cloud took it: %v", o)
	}
}

func TestStockShowsWhatMayBeSoldOffline(t *testing.T) {
	r := start(t, nil)
	if _, s := r.do(t, "GET", "/v1/stock", ""); s["allowance"] != nil {
		t.Fatalf("%v", s)
	}
	if err := r.allowance.Grant(t.Context(), []wire.StockLine{{SKU: "cola", Allowance: 2}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, s := r.do(t, "GET", "/v1/stock", ""); fmt.Sprint(s["allowance"]) != "[map[sku:cola units:2]]" {
		t.Fatalf("%v", s)
	}
}

func TestPricesAreShownOrderedByAndChanged(t *testing.T) {
	r := start(t, nil)
	if _, p := r.do(t, "GET", "/v1/planogram", ""); p["status"] != "unknown" || len(p["slots"].([]any)) != 0 {
		t.Fatalf("%v", p)
	}
	slots := []wire.Slot{{Slot: "A1", SKU: "cola", Capacity: 12, Price: 350, Currency: "CNY"}}
	if _, err := r.planogram.Take(t.Context(), &wire.Planogram{Version: 7, Slots: slots}); err != nil {
		t.Fatal(err)
	}
	if _, p := r.do(t, "GET", "/v1/planogram", ""); p["version"] != 7.0 || p["slots"].([]any)[0].(map[string]any)["price"] != 350.0 {
		t.Fatalf("%v", p)
	}
	for _, bad := range []string{"0", "-1", "1.5", `"7"`, "null"} {
		if resp, p := r.do(t, "POST", "/v1/scan-orders", `{"priced_at":`+bad+`,`+goodOrder[1:]); resp.StatusCode != 400 || p["field"] != "priced_at" {
			t.Errorf("priced_at %s: %d %v", bad, resp.StatusCode, p)
		}
	}
	resp, got := r.do(t, "POST", "/v1/scan-orders", `{"priced_at":7,`+goodOrder[1:])
	if resp.StatusCode != 202 {
		t.Fatalf("%d %v", resp.StatusCode, got)
	}
	if row, _, err := r.box.Row(int64(got["seq"].(float64))); err != nil || row.Order.PricedAt != 7 {
		t.Fatalf("%+v, %v", row, err)
	}
	r.settle(t, int64(got["seq"].(float64)), got["id"], wire.Verdict{Code: wire.CodePriceChanged, PricedAt: 8,
		Prices: []wire.Price{{SKU: "cola", Price: 400, Currency: "CNY"}}})
	_, o := r.do(t, "GET", resp.Header.Get("Location"), "")
	if o["status"] != "refused" || o["code"] != "price_changed" || o["priced_at"] != 8.0 || o["prices"].([]any)[0].(map[string]any)["price"] != 400.0 {
		t.Fatalf("%v", o)
	}
}
