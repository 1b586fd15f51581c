package scan

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/edge/allowance"
	"vendline/edge/dispense"
	"vendline/edge/ident"
	"vendline/edge/outbox"
	planograms "vendline/edge/planogram"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

// quietLink is an uplink without a network.
type quietLink struct {
	status uplink.Status
	code   wire.Code
}

func (l *quietLink) Status() uplink.Status            { return l.status }
func (l *quietLink) Reason(int64) (wire.Code, string) { return l.code, "" }

type rig struct {
	*httptest.Server
	box   *outbox.Outbox
	link  *quietLink
	shelf *Shelf
	mono  time.Duration

	journal   *dispense.Journal
	allowance *allowance.Allowance
	planogram *planograms.Store
}

func start(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	box, err := outbox.Open(t.Context(), outbox.Options{Dir: t.TempDir(), Cabinet: "C001"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	r := &rig{box: box, link: new(quietLink), shelf: new(Shelf)}
	if r.journal, err = dispense.Open(box, dispense.Options{Mono: func() time.Duration { return r.mono }}); err != nil {
		t.Fatal(err)
	}
	if r.allowance, err = allowance.Open(box); err != nil {
		t.Fatal(err)
	}
	r.planogram = planograms.New(box, "C001", time.Now)
	cfg := Config{Cabinet: "C001", Version: "v1", Box: box, Link: r.link, Shelf: r.shelf, Mint: ident.New(nil, nil),
		Commands: r.journal, Allowance: r.allowance, Planogram: r.planogram,
		Now: time.Now, Mono: func() time.Duration { return r.mono }, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.Server = httptest.NewServer(newHandler(ctx, cfg))
	t.Cleanup(func() { cancel(); r.Close() })
	return r
}

func (r *rig) do(t *testing.T, method, path, body string, header ...string) (*http.Response, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s %s answered %q", method, path, data)
	}
	return resp, v
}

func (r *rig) settle(t *testing.T, seq int64, id any, v wire.Verdict) {
	t.Helper()
	v.ID = id.(string)
	if err := r.box.Settle(t.Context(), []outbox.Answer{{Seq: seq, Verdict: &v}}); err != nil {
		t.Fatal(err)
	}
}

const goodOrder = `{"user":"u1","lines":[{"sku":"cola","qty":2}]}`

func TestBadInputIsAProblemThatNamesTheLineAndKeepsNothing(t *testing.T) {
	r := start(t, nil)
	qty := func(v string) string {
		return `{"user":"u1","lines":[{"sku":"a","qty":1},{"sku":"cola","qty":` + v + `}]}`
	}
	for body, field := range map[string]string{
		qty(`-5`): "lines[1].qty", qty(`0`): "lines[1].qty", qty(`1000`): "lines[1].qty", qty(`null`): "lines[1].qty",
		qty(`"2"`): "lines[1].qty", qty(`2.5`): "lines[1].qty", qty(`9007199254740993`): "lines[1].qty",
		qty(`1,"qty":9`): "lines[1].qty", qty(`1,"QTY":9`): "lines[1].QTY",
		`{"user":"u1","lines":[]}`: "lines", `{"user":"u1","lines":null}`: "lines", `{"user":"u1"}`: "lines",
		`{"user":"u1","lines":[{"sku":"a","qty":600},{"sku":"a","qty":600}]}`: "lines[1].qty",
		`{"lines":[{"sku":"a","qty":1}]}`:                                     "user", `{"user":"","lines":[{"sku":"a","qty":1}]}`: "user",
		`{"user":"u1","cabinet":"C2","lines":[{"sku":"a","qty":1}]}`:    "cabinet",
		`{"id":"nope","user":"u1","lines":[{"sku":"a","qty":1}]}`:       "id",
		`{"id":null,"user":"u1","lines":[{"sku":"a","qty":1}]}`:         "id",
		"{\"user\":\"u1\",\"lines\":[{\"sku\":\"c\xffla\",\"qty\":1}]}": "",
		goodOrder + `}{`: "", goodOrder + goodOrder: "", ``: "", `[]`: "", `null`: "", goodOrder[:20]: "lines",
	} {
		resp, p := r.do(t, "POST", "/v1/scan-orders", body)
		if resp.StatusCode != 400 || p["code"] != "invalid_request" || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q answered %d %v", body, resp.StatusCode, p)
		}
		if got, _ := p["field"].(string); got != field {
			t.Errorf("%q blames %q, want %q", body, got, field)
		}
		if p["title"] == "" || p["type"] == "" || p["detail"] == "" || p["request_id"] == "" || p["retryable"] != false || p["status"] != 400.0 {
			t.Errorf("%q: the problem lacks something: %v", body, p)
		}
	}
	if resp, _ := r.do(t, "POST", "/v1/facts", `{"kind":"drift","lines":[{"sku":"a","qty":1}]}`); resp.StatusCode != 400 {
		t.Errorf("a fact of another kind answered %d", resp.StatusCode)
	}
	if resp, p := r.do(t, "POST", "/v1/scan-orders", `{"user":"`+strings.Repeat("u", maxBody)+`"}`); resp.StatusCode != 413 || p["code"] != "too_large" {
		t.Errorf("an endless body answered %d %v", resp.StatusCode, p)
	}
	if r.box.Depth() != 0 {
		t.Fatalf("%d rows were kept of refused input", r.box.Depth())
	}
}

func TestAnOrderIsPendingUntilTheVerdictIsKnown(t *testing.T) {
	r := start(t, nil)
	resp, got := r.do(t, "POST", "/v1/scan-orders", goodOrder)
	if resp.StatusCode != 202 || got["status"] != "pending" || got["seq"] != 1.0 || got["epoch"] != r.box.Epoch() {
		t.Fatalf("%d %v", resp.StatusCode, got)
	}
	where := resp.Header.Get("Location")
	if where != "/v1/orders/"+got["id"].(string) {
		t.Fatalf("Location %q", where)
	}
	r.link.code = wire.CodeFenced
	if _, o := r.do(t, "GET", where, ""); o["status"] != "pending" || o["code"] != "fenced" || o["retryable"] != true {
		t.Fatalf("while the cloud says later: %v", o)
	}
	var poll sync.WaitGroup
	poll.Go(func() {
		if _, o := r.do(t, "GET", where+"?wait=60s", ""); o["status"] != "refused" || o["code"] != "stock_short" {
			t.Errorf("the long poll heard %v", o)
		}
	})
	r.settle(t, 1, got["id"], wire.Verdict{Code: wire.CodeStockShort, Short: []wire.Shortage{{SKU: "cola", Want: 2, Have: 1}}})
	poll.Wait()
	if _, o := r.do(t, "GET", where+"?wait=60s", ""); o["short"].([]any)[0].(map[string]any)["have"] != 1.0 {
		t.Fatalf("afterwards: %v", o)
	}
	if resp, p := r.do(t, "GET", "/v1/orders/"+"01890a5d-ac96-774b-bcce-b302099a8057?wait=60s", ""); resp.StatusCode != 404 || p["code"] != "order_unknown" {
		t.Errorf("an order never placed: %d %v", resp.StatusCode, p)
	}
	if resp, _ := r.do(t, "GET", where+"?wait=soon", ""); resp.StatusCode != 400 {
		t.Errorf("a wait that is none: %d", resp.StatusCode)
	}
}

func TestTheSameKeyIsTheSameOrderAndNeverAnother(t *testing.T) {
	r := start(t, nil)
	const own = "01890a5d-ac96-774b-bcce-b302099a8057"
	withID := `{"id":"` + own + `",` + goodOrder[1:]
	for _, c := range []struct {
		name, body string
		header     []string
		status     int
		seq        float64
	}{
		{"the firmware's own id", withID, nil, 202, 1},
		{"again", withID, nil, 202, 1},
		{"as a key", goodOrder, []string{"Idempotency-Key", own}, 202, 1},
		{"as both", withID, []string{"Idempotency-Key", own}, 202, 1},
		{"lines in another order of writing", `{"lines":[{"qty":1,"sku":"cola"},{"qty":1,"sku":"cola"}],"user":"u1","id":"` + own + `"}`, nil, 202, 1},
		{"another basket", strings.Replace(withID, `2}`, `3}`, 1), nil, 422, 0},
		{"a key of words", goodOrder, []string{"Idempotency-Key", "session 7"}, 202, 2},
		{"the same words", goodOrder, []string{"Idempotency-Key", "session 7"}, 202, 2},
		{"the same words, other user", strings.Replace(goodOrder, "u1", "u2", 1), []string{"Idempotency-Key", "session 7"}, 422, 0},
		{"id and key that differ", withID, []string{"Idempotency-Key", "x"}, 400, 0},
		{"two keys", goodOrder, []string{"Idempotency-Key", "x", "Idempotency-Key", "y"}, 400, 0},
		{"an empty key", goodOrder, []string{"Idempotency-Key", ""}, 400, 0},
	} {
		resp, got := r.do(t, "POST", "/v1/scan-orders", c.body, c.header...)
		if resp.StatusCode != c.status || c.seq > 0 && got["seq"] != c.seq {
			t.Errorf("%s: %d %v", c.name, resp.StatusCode, got)
		}
		if c.status == 422 && got["code"] != "idempotency_conflict" {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if r.box.Depth() != 2 {
		t.Fatalf("%d rows for two orders", r.box.Depth())
	}
}

func TestAFactIsKeptAndAcknowledged(t *testing.T) {
	r := start(t, nil)
	resp, got := r.do(t, "POST", "/v1/facts", `{"kind":"restock","lines":[{"sku":"cola","qty":20}]}`)
	if resp.StatusCode != 202 {
		t.Fatalf("%d %v", resp.StatusCode, got)
	}
	if err := r.box.Settle(t.Context(), []outbox.Answer{{Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, o := r.do(t, "GET", resp.Header.Get("Location"), ""); o["status"] != "accepted" {
		t.Fatalf("%v", o)
	}
}

// fullBox has no room.
type fullBox struct{ *outbox.Outbox }

func (fullBox) Append(context.Context, outbox.Entry) (outbox.Receipt, error) {
	return outbox.Receipt{}, outbox.ErrFull
}

func TestAFullOutboxIsSaidBeforeMoneyMoves(t *testing.T) {
	r := start(t, func(c *Config) { c.Box = fullBox{c.Box.(*outbox.Outbox)} })
	resp, p := r.do(t, "POST", "/v1/scan-orders", goodOrder)
	if resp.StatusCode != 507 || p["code"] != "outbox_full" || p["retryable"] != true || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("%d %v", resp.StatusCode, p)
	}
}

// slowBox keeps its callers until it is let go.
type slowBox struct {
	*outbox.Outbox
	entered, leave chan struct{}
}

func (s slowBox) Append(ctx context.Context, e outbox.Entry) (outbox.Receipt, error) {
	s.entered <- struct{}{}
	<-s.leave
	return s.Outbox.Append(ctx, e)
}

func TestTooManyPostsAtOnceAreTurnedAwayAndTheRestKept(t *testing.T) {
	slow := slowBox{entered: make(chan struct{}), leave: make(chan struct{})}
	r := start(t, func(c *Config) {
		slow.Outbox = c.Box.(*outbox.Outbox)
		c.Box, c.MaxPosts = slow, 1
	})
	var first sync.WaitGroup
	first.Go(func() {
		if resp, _ := r.do(t, "POST", "/v1/scan-orders", goodOrder); resp.StatusCode != 202 {
			t.Errorf("the first answered %d", resp.StatusCode)
		}
	})
	<-slow.entered
	if resp, p := r.do(t, "POST", "/v1/scan-orders", goodOrder); resp.StatusCode != 503 || p["code"] != "overloaded" {
		t.Errorf("the second answered %d %v", resp.StatusCode, p)
	}
	close(slow.leave)
	first.Wait()
}

func TestStockIsUnknownUntilTheCloudSpeaksAndThenHasAnAge(t *testing.T) {
	r := start(t, nil)
	if _, s := r.do(t, "GET", "/v1/stock", ""); s["status"] != "unknown" || len(s["stock"].([]any)) != 0 {
		t.Fatalf("%v", s)
	}
	r.mono = time.Minute
	r.shelf.Tell(wire.Command{Kind: "reboot"}, r.mono)
	r.shelf.Tell(wire.Command{Kind: wire.CommandStock, Stock: []wire.StockLine{{SKU: "cola", Sellable: 7}}}, r.mono)
	r.mono += 1500 * time.Millisecond
	_, s := r.do(t, "GET", "/v1/stock", "")
	if s["status"] != "known" || s["age_ms"] != 1500.0 || s["stock"].([]any)[0].(map[string]any)["sellable"] != 7.0 {
		t.Fatalf("%v", s)
	}
}

func TestHealthShowsWhatAnEngineerAsksFor(t *testing.T) {
	r := start(t, nil)
	r.link.status = uplink.Status{Connected: true, Conflict: "another agent uses cabinet C001's identity"}
	r.do(t, "POST", "/v1/scan-orders", goodOrder)
	r.do(t, "POST", "/v1/scan-orders", goodOrder)
	if err := r.box.Park(t.Context(), 1, wire.CodeTooLarge, "message of 70000 bytes"); err != nil {
		t.Fatal(err)
	}
	_, h := r.do(t, "GET", "/v1/health", "")
	stone := h["last_parked"].([]any)[0].(map[string]any)
	if h["status"] != "degraded" || h["depth"] != 1.0 || h["parked"] != 1.0 || stone["reason"] != "message of 70000 bytes" ||
		!strings.Contains(h["identity_conflict"].(string), "another agent") || h["cabinet"] != "C001" || h["version"] != "v1" ||
		h["db_bytes"].(float64) <= 0 || h["epoch"] != r.box.Epoch() || len(h["problems"].([]any)) != 2 {
		t.Fatalf("%v", h)
	}
}

func TestWhatIsNotThereIsAProblemToo(t *testing.T) {
	r := start(t, nil)
	if resp, p := r.do(t, "GET", "/v1/scan-orders", ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" || p["code"] != "invalid_request" {
		t.Errorf("%d %v", resp.StatusCode, p)
	}
	if resp, p := r.do(t, "GET", "/v2", ""); resp.StatusCode != 404 || p["code"] != "not_found" {
		t.Errorf("%d %v", resp.StatusCode, p)
	}
}

func TestAWebPageCanNotSell(t *testing.T) {
	r := start(t, nil)
	req, err := http.NewRequest("POST", r.URL+"/v1/scan-orders", strings.NewReader(goodOrder))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://example.org")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 || r.box.Depth() != 0 {
		t.Fatalf("answered %d", resp.StatusCode)
	}
}

func TestOnlyThisMachineIsListenedTo(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0", "nonsense"} {
		if l, err := Listen(t.Context(), addr, false); err == nil {
			l.Close()
			t.Errorf("%s was listened on", addr)
		}
	}
	dir := t.TempDir()
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "unix:" + dir + "/s", "unix:" + dir + "/s"} {
		l, err := Listen(t.Context(), addr, false)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if u, ok := l.(interface{ SetUnlinkOnClose(bool) }); ok {
			u.SetUnlinkOnClose(false) // as if the agent had been killed
		}
		l.Close()
	}
	if l, err := Listen(t.Context(), "0.0.0.0:0", true); err != nil {
		t.Errorf("when it is meant: %v", err)
	} else {
		l.Close()
	}
}
