package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"vendline/cloud/fleet"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/planogram"
	"vendline/cloud/shop"
	"vendline/shared/money"
	"vendline/shared/wire"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// served is the whole HTTP side, over parts that answer what the document's
// examples need.
func served(t *testing.T) *Server {
	t.Helper()
	s, err := NewServer(Options{Orders: scripted{}, Payments: scripted{}, Intents: scripted{}, Live: scripted{}, Truth: scripted{}, Catalogue: scripted{}, ID: func() string { return "r1" }})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Options{Ledger: scripted{}, Desk: scripted{}, Planograms: scripted{}, Presences: func() []fleet.Presence {
		return []fleet.Presence{{Cabinet: "C001", Status: "online", Seen: time.Now(), Depth: 3}}
	}, Depth: func(context.Context) (int64, error) { return 0, errors.New("away") },
		Rebuild: func(context.Context, string) error { return nil }, Reconciliation: compared{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Mount(s)
	page, err := shop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	page.Mount(s)
	return s
}

var parameter = regexp.MustCompile(`:(\w+)`)

func TestTheDocumentListsExactlyTheRoutes(t *testing.T) {
	var routes, documented []string
	for _, r := range served(t).engine.Routes() {
		routes = append(routes, r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}"))
	}
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if !slices.Equal(routes, documented) {
		t.Errorf("routes\n%s\ndocumented\n%s", strings.Join(routes, "\n"), strings.Join(documented, "\n"))
	}
}

func TestTheDocumentListsEveryCode(t *testing.T) {
	var have, want []string
	for _, v := range document(t).Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		have = append(have, v.(string))
	}
	for _, r := range table {
		want = append(want, string(r.code))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("documented %v\ntable %v", have, want)
	}
}

func TestTheDocumentSaysWhatIsReallyAnswered(t *testing.T) {
	s, doc := served(t), document(t)
	const good = `{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":2}]}`
	const slots = `{"slots":[{"slot":"A1","sku":"cola","capacity":9,"price":350,"currency":"CNY"}]}`
	for _, c := range []struct {
		method, path, template, body string
		status                       int
	}{
		{"POST", "/v1/orders", "/v1/orders", good, 201},
		{"POST", "/v1/orders?async", "/v1/orders", good, 202},
		{"POST", "/v1/orders?async", "/v1/orders", strings.Replace(good, "cola", "full", 1), 503},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "2", "-2", 1), 400},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "cola", "none", 1), 404},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "cola", "short", 1), 409},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(strings.Replace(good, "cola", "dearer", 1), "{", `{"priced_at":2,`, 1), 409},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "cola", "other", 1), 422},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "cola", "away", 1), 503},
		{"POST", "/v1/orders", "/v1/orders", strings.Replace(good, "cola", "panic", 1), 500},
		{"POST", "/v1/orders", "/v1/orders", strings.Repeat(" ", wire.MaxMessage) + good, 413},
		{"GET", "/v1/orders/" + known, "/v1/orders/{id}", "", 200},
		{"GET", "/v1/orders/" + known + "?wait=1s", "/v1/orders/{id}", "", 200},
		{"GET", "/v1/orders/" + pendingID, "/v1/orders/{id}", "", 200},
		{"GET", "/v1/orders/" + refusedID, "/v1/orders/{id}", "", 200},
		{"GET", "/v1/orders/" + known + "?wait=x", "/v1/orders/{id}", "", 400},
		{"GET", "/v1/orders/0", "/v1/orders/{id}", "", 404},
		{"GET", "/v1/orders/" + known + "/events", "/v1/orders/{id}/events", "", 200},
		{"GET", "/v1/orders/0/events", "/v1/orders/{id}/events", "", 404},
		{"POST", "/v1/orders/" + known + "/cancel", "/v1/orders/{id}/cancel", "", 409},
		{"POST", "/v1/orders/" + known + "/payments", "/v1/orders/{id}/payments", `{"provider":"sandbox"}`, 201},
		{"POST", "/v1/orders/" + known + "/payments", "/v1/orders/{id}/payments", `{"provider":""}`, 400},
		{"POST", "/v1/orders/" + known + "/payments", "/v1/orders/{id}/payments", `{"provider":"shells"}`, 404},
		{"GET", "/v1/orders/" + known + "/payments", "/v1/orders/{id}/payments", "", 200},
		{"GET", "/v1/orders/0/payments", "/v1/orders/{id}/payments", "", 404},
		{"POST", "/v1/payments/sandbox/notify", "/v1/payments/{provider}/notify", "paid", 200},
		{"POST", "/v1/payments/sandbox/notify", "/v1/payments/{provider}/notify", "forged", 401},
		{"POST", "/v1/payments/shells/notify", "/v1/payments/{provider}/notify", "paid", 404},
		{"GET", "/v1/cabinets/C001", "/v1/cabinets/{id}", "", 200},
		{"GET", "/v1/cabinets/C404", "/v1/cabinets/{id}", "", 404},
		{"GET", "/healthz", "/healthz", "", 200},
		{"GET", "/readyz", "/readyz", "", 200},
		{"GET", "/metrics", "/metrics", "", 200},
		{"GET", "/openapi.json", "/openapi.json", "", 200},
		{"GET", "/", "/", "", 200},
		{"GET", "/v1/fleet/cabinets", "/v1/fleet/cabinets", "", 200},
		{"GET", "/v1/fleet/orders?cabinet=C001", "/v1/fleet/orders", "", 200},
		{"GET", "/v1/fleet/orders?user=u1&status=CONSUMED", "/v1/fleet/orders", "", 200},
		{"GET", "/v1/fleet/orders?status=PAID", "/v1/fleet/orders", "", 400},
		{"GET", "/v1/fleet/cabinets/C001/planogram", "/v1/fleet/cabinets/{id}/planogram", "", 200},
		{"GET", "/v1/fleet/cabinets/C002/planogram", "/v1/fleet/cabinets/{id}/planogram", "", 200},
		{"GET", "/v1/fleet/cabinets/C009/planogram", "/v1/fleet/cabinets/{id}/planogram", "", 404},
		{"PUT", "/v1/fleet/cabinets/C001/planogram", "/v1/fleet/cabinets/{id}/planogram", slots, 200},
		{"PUT", "/v1/fleet/cabinets/C001/planogram", "/v1/fleet/cabinets/{id}/planogram", strings.Replace(slots, "{", `{"base":1,`, 1), 409},
		{"PUT", "/v1/fleet/cabinets/C001/planogram", "/v1/fleet/cabinets/{id}/planogram", `{"slot":[]}`, 400},
		{"GET", "/v1/fleet/planograms?unacked=true", "/v1/fleet/planograms", "", 200},
		{"GET", "/v1/fleet/planograms?unacked=no", "/v1/fleet/planograms", "", 400},
		{"POST", "/v1/fleet/cabinets/C001/slots/A1/resume", "/v1/fleet/cabinets/{id}/slots/{slot}/resume", "", 200},
		{"POST", "/v1/fleet/cabinets/C009/slots/A1/resume", "/v1/fleet/cabinets/{id}/slots/{slot}/resume", "", 404},
		{"GET", "/v1/fleet/cases", "/v1/fleet/cases", "", 200},
		{"GET", "/v1/fleet/cases?closed=true", "/v1/fleet/cases", "", 200},
		{"GET", "/v1/fleet/cases?closed=no", "/v1/fleet/cases", "", 400},
		{"POST", "/v1/fleet/cases/" + known + "/close", "/v1/fleet/cases/{id}/close", `{"note":"looked at"}`, 200},
		{"POST", "/v1/fleet/cases/" + known + "/close", "/v1/fleet/cases/{id}/close", `{}`, 400},
		{"POST", "/v1/fleet/cases/" + refusedID + "/close", "/v1/fleet/cases/{id}/close", `{"note":"looked at"}`, 404},
		{"POST", "/v1/fleet/refunds/" + known + "/retry", "/v1/fleet/refunds/{id}/retry", "", 200},
		{"POST", "/v1/fleet/refunds/" + refusedID + "/retry", "/v1/fleet/refunds/{id}/retry", "", 404},
		{"GET", "/v1/fleet/pipeline", "/v1/fleet/pipeline", "", 200},
		{"GET", "/letters", "/letters", "", 200},
		{"GET", "/v1/fleet/dead-letters", "/v1/fleet/dead-letters", "", 200},
		{"GET", "/v1/fleet/dead-letters?state=all&source=stock&cabinet=C001&q=x&limit=1", "/v1/fleet/dead-letters", "", 200},
		{"GET", "/v1/fleet/dead-letters?state=shut", "/v1/fleet/dead-letters", "", 400},
		{"GET", "/v1/fleet/dead-letters/" + known, "/v1/fleet/dead-letters/{id}", "", 200},
		{"GET", "/v1/fleet/dead-letters/" + refusedID, "/v1/fleet/dead-letters/{id}", "", 404},
		{"POST", "/v1/fleet/dead-letters/redrive", "/v1/fleet/dead-letters/redrive", `{"all":true,"dry_run":true}`, 200},
		{"POST", "/v1/fleet/dead-letters/redrive", "/v1/fleet/dead-letters/redrive", `{"ids":["` + known + `"],"who":"ann"}`, 200},
		{"POST", "/v1/fleet/dead-letters/redrive", "/v1/fleet/dead-letters/redrive", `{}`, 400},
		{"POST", "/v1/fleet/dead-letters/discard", "/v1/fleet/dead-letters/discard", `{"ids":["` + known + `"],"note":"seen"}`, 200},
		{"POST", "/v1/fleet/dead-letters/discard", "/v1/fleet/dead-letters/discard", `{"all":true}`, 400},
		{"GET", "/v1/fleet/outbox", "/v1/fleet/outbox", "", 200},
		{"GET", "/v1/fleet/outbox?limit=0", "/v1/fleet/outbox", "", 400},
		{"GET", "/reconcile", "/reconcile", "", 200},
		{"GET", "/v1/fleet/reconcile", "/v1/fleet/reconcile", "", 200},
		{"POST", "/v1/fleet/reconcile", "/v1/fleet/reconcile", `{"all":true,"dry_run":true}`, 200},
		{"POST", "/v1/fleet/reconcile", "/v1/fleet/reconcile", `{"all":false}`, 400},
		{"GET", "/v1/fleet/incidents", "/v1/fleet/incidents", "", 200},
		{"GET", "/v1/fleet/incidents?limit=0", "/v1/fleet/incidents", "", 400},
		{"POST", "/v1/fleet/warmup", "/v1/fleet/warmup", `{"cabinets":["C001"]}`, 200},
		{"POST", "/v1/fleet/warmup", "/v1/fleet/warmup", `{}`, 400},
	} {
		t.Run(c.method+" "+c.path[:min(40, len(c.path))], func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Idempotency-Key", "k")
			if strings.HasSuffix(c.path, "?async") {
				r.Header.Set("Prefer", "respond-async")
			}
			if c.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Fatalf("HTTP %d: %s", w.Code, w.Body)
			}
			item := doc.Paths.Value(c.template)
			in := &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{Spec: doc, Path: c.template, PathItem: item, Method: c.method, Operation: item.GetOperation(c.method)}}
			kind := w.Header().Get("Content-Type")
			err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
				RequestValidationInput: in, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
				Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: !strings.Contains(kind, "json") || strings.Contains(kind, "ndjson")},
			})
			if err != nil {
				t.Errorf("%v\n%s", err, w.Body)
			}
			if media, _, _ := strings.Cut(kind, ";"); in.Route.Operation.Responses.Status(w.Code).Value.Content[media] == nil {
				t.Errorf("answered as %s, which is not documented", media)
			}
		})
	}
}

const (
	known     = "0190a7d2-4b1c-7000-8000-0123456789ab"
	pendingID = "0190a7d2-4b1c-7000-8000-0123456789ac"
	refusedID = "0190a7d2-4b1c-7000-8000-0123456789ad"
)

// scripted answers by the SKU or the id it is asked about.
type scripted struct{}

func (scripted) Place(_ context.Context, r order.Request) (order.Order, bool, error) {
	switch r.Lines[0].SKU {
	case "none":
		return order.Order{}, false, &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "no such product"}
	case "short":
		return order.Order{}, false, &order.Refusal{Code: wire.CodeStockShort, Detail: "too few", Short: []wire.Shortage{{SKU: "short", Want: 2, Have: 1}}}
	case "dearer":
		return order.Order{}, false, &order.Refusal{Code: wire.CodePriceChanged, Detail: "it costs more", Prices: []wire.Price{{SKU: "dearer", Price: 300, Currency: "EUR"}}, PricedAt: 3}
	case "other":
		return order.Order{}, false, &order.Refusal{Code: wire.CodeIdempotencyConflict, Detail: "used"}
	case "away":
		return order.Order{}, false, errors.New("away")
	case "panic":
		panic("a bug")
	}
	return placedOrder(r.ID), false, nil
}

func placedOrder(id string) order.Order {
	now := time.UnixMilli(1_790_000_000_123)
	return order.Order{ID: id, Cabinet: "C001", User: "u1", Status: order.PreReserved, Version: 1, Amount: 500, Currency: "EUR",
		Lines: []order.Line{{SKU: "cola", Qty: 2, Price: 250, State: order.LinePending}}, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
}

func (scripted) Start(_ context.Context, id, provider string) (payment.Started, error) {
	if provider != "sandbox" {
		return payment.Started{}, payment.ErrNoProvider
	}
	p := payment.Payment{ID: known, Order: id, Provider: provider, Status: payment.StatusOpen, Amount: money.Money{Minor: 500, Currency: "EUR"}}
	return payment.Started{Payment: p, Prepay: payment.Prepay{URL: "http://pay.example/1"}, DueBy: time.Now()}, nil
}

func (scripted) Notify(_ context.Context, provider string, n payment.Notification) (payment.Answer, error) {
	switch {
	case provider != "sandbox":
		return payment.Answer{}, payment.ErrNoProvider
	case string(n.Body) != "paid":
		return payment.Answer{}, payment.ErrUnsigned
	}
	return payment.Answer{Status: 200, ContentType: "text/plain", Body: []byte("success")}, nil
}

func (scripted) Account(_ context.Context, id string) (payment.Account, error) {
	m := money.Money{Minor: 500, Currency: "EUR"}
	return payment.Account{
		Payments:  []payment.Payment{{ID: known, Order: id, Provider: "sandbox", Status: payment.StatusPaid, Amount: m, Ref: "7"}},
		Returns:   []payment.Return{{ID: "r", Payment: known, Order: id, SKU: "cola", Amount: m, Status: payment.ReturnPending, Reason: "it did not come out"}},
		Movements: []money.Movement{{Kind: money.Captured, Ref: known, Money: m}},
	}, nil
}

func (scripted) TakeIn(_ context.Context, r order.Request, _ order.Wishes) (order.Order, bool, error) {
	if r.Lines[0].SKU == "full" {
		return order.Order{}, false, &order.Refusal{Code: wire.CodeOverloaded, Detail: "too many wait"}
	}
	return pendingOrder(r.ID), false, nil
}

func pendingOrder(id string) order.Order {
	o := placedOrder(id)
	o.Status, o.Version, o.Intent = order.Init, 0, &order.Intent{Status: order.IntentPending}
	return o
}

func (scripted) Get(_ context.Context, id string) (order.Order, error) {
	switch o := pendingOrder(id); id {
	case refusedID:
		o.Version, o.Intent.Status, o.Intent.Code, o.Intent.Detail = order.RefusedVersion, order.IntentRefused, wire.CodeStockShort, "too few"
		fallthrough
	case pendingID:
		return o, nil
	}
	return placedOrder(id), nil
}
func (scripted) Wait(_ context.Context, id string, _ time.Duration) (order.Order, error) {
	return placedOrder(id), nil
}
func (scripted) History(_ context.Context, id string) ([]order.Entry, error) {
	if id != known {
		return nil, order.ErrUnknown
	}
	return []order.Entry{{At: time.Now(), Kind: order.EntryTransition, Event: order.PreDeduct, From: order.Init, To: order.PreReserved, Version: 1, Cause: "placed"},
		{At: time.Now(), Kind: order.EntryRefund, State: "pending", SKU: "cola", Amount: 250, Currency: "EUR", Ref: known}}, nil
}
func (scripted) Watch(context.Context, string) (<-chan struct{}, func()) { return nil, func() {} }
func (scripted) Cancel(_ context.Context, id string) (order.Order, error) {
	o := placedOrder(id)
	o.Status = order.Consumed
	return order.Order{}, &order.StateError{Order: o, Event: order.Timeout}
}
func (scripted) Sellable(_ context.Context, c string) (map[string]int64, error) {
	if c == "C001" {
		return map[string]int64{"cola": 3}, nil
	}
	return nil, order.ErrNotLoaded
}
func (scripted) Available(context.Context, string) (map[string]int64, error) {
	return nil, &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no such cabinet"}
}
func (scripted) Product(_ context.Context, _, sku string) (order.Offer, bool, error) {
	return order.Offer{Product: order.Product{SKU: sku, Name: "Cola", Price: 250, Currency: "EUR"}, PricedAt: 3, Slots: []string{"A1", "A2"}, Suspended: true}, true, nil
}
func (scripted) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, nil
}
func (scripted) Cabinets(context.Context) ([]string, error) { return []string{"C001", "C002"}, nil }
func (scripted) Shelves(context.Context, string) ([]fleet.Shelf, error) {
	return []fleet.Shelf{{SKU: "cola", Total: 10, Available: 9, Locked: 1}}, nil
}
func (scripted) Recent(context.Context, string, int) ([]order.Order, error) {
	return []order.Order{placedOrder(known)}, nil
}
func (scripted) Search(context.Context, string, string, order.Status, int) ([]order.Order, error) {
	return []order.Order{placedOrder(known)}, nil
}
func (scripted) OrdersByID(context.Context, ...string) ([]order.Order, error) { return nil, nil }
func (scripted) Standings(context.Context, ...string) (map[string]string, error) {
	return map[string]string{known: "refunding"}, nil
}
func (scripted) Cases(_ context.Context, closed bool, _ int) ([]order.Case, error) {
	return []order.Case{{ID: known, Kind: order.CaseShortage, Order: known, Closed: closed}}, nil
}
func (scripted) CountCases(context.Context) (int64, error) { return 1, nil }
func (scripted) CloseCase(_ context.Context, id, _ string) error {
	if id != known {
		return &order.Refusal{Code: wire.CodeNotFound}
	}
	return nil
}
func (scripted) RetryRefund(_ context.Context, id string) (bool, error) {
	if id != known {
		return false, &order.Refusal{Code: wire.CodeNotFound}
	}
	return true, nil
}
func (scripted) SlotFaults(context.Context) ([]order.SlotFault, error) {
	return []order.SlotFault{{Cabinet: "C001", Slot: "A1", SKU: "cola", Fault: "jam"}}, nil
}
func (scripted) ResumeSlot(context.Context, string, string) (bool, error) { return true, nil }
func (scripted) SetPlanogram(_ context.Context, cabinet string, _ []wire.Slot, base *int64) (int64, bool, error) {
	if base != nil {
		return 0, false, planogram.ErrConflict
	}
	return 3, true, nil
}
func (scripted) Planograms(context.Context, ...string) (map[string]planogram.State, error) {
	return map[string]planogram.State{"C001": {Planogram: wire.Planogram{Version: 2, Slots: []wire.Slot{{Slot: "A1", SKU: "cola", Capacity: 9, Price: 350, Currency: "CNY"}}}, Acked: 1}}, nil
}
func (scripted) UnackedPlanograms(context.Context, int) ([]planogram.Unacked, error) {
	return []planogram.Unacked{{Cabinet: "C001", Version: 2, Acked: 1}}, nil
}
func (scripted) CountUnackedPlanograms(context.Context) (int64, error) { return 0, nil }
func (scripted) Products(context.Context) ([]order.Product, error)     { return nil, nil }
func (scripted) Backlog(context.Context) ([]outbox.Stat, error) {
	return []outbox.Stat{{Kind: outbox.KindStock, Depth: 1, Oldest: time.Second}}, nil
}
func (scripted) FindLetters(context.Context, letter.Filter) (letter.Page, error) {
	return letter.Page{Letters: []letter.Letter{{ID: known, Source: "mqtt", State: letter.Open, Reason: "is not JSON", Payload: []byte{0xff}}}, Next: "1." + known}, nil
}
func (scripted) CountFound(context.Context, letter.Filter) (int64, error) { return 1, nil }
func (scripted) Letter(_ context.Context, id string) (letter.Letter, []letter.Event, error) {
	if id != known {
		return letter.Letter{}, nil, &order.Refusal{Code: wire.CodeNotFound, Detail: "no dead letter has this id"}
	}
	return letter.Letter{ID: id, Source: "mqtt", State: letter.Open, Payload: []byte("x")}, []letter.Event{{Who: "vend-cloud", What: "buried"}}, nil
}
func (scripted) Redrive(_ context.Context, _, id string, dry bool) (letter.Outcome, error) {
	return letter.Outcome{ID: id, Source: "mqtt", Done: !dry, Action: "sent"}, nil
}
func (scripted) Discard(_ context.Context, _, _, id string, _ bool) (letter.Outcome, error) {
	return letter.Outcome{ID: id, Source: "stock", Refuse: "stock needs it"}, nil
}
func (scripted) StuckRows(context.Context, int) ([]outbox.Waiting, error) {
	return []outbox.Waiting{{Row: outbox.Row{ID: known, Kind: outbox.KindStock, Payload: []byte{0xff}}, LastError: "away"}}, nil
}
func (scripted) CountLetters(context.Context) (int64, error) { return 1, nil }
