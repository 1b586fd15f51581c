package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"

	"vendline/cloud/api"
	"vendline/cloud/catalogue"
	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// shop is the API over the real service, ledger (SQLite) and stock (Redis in
// process): what a phone talks to.
type shop struct {
	*httptest.Server
	orders *order.Service
	ledger *ledger.Ledger
	stock  *deduct.Stock
	redis  *miniredis.Miniredis
	log    *bytes.Buffer
	feed   atomic.Pointer[func([]outbox.Row)] // carries rows out as they are committed
}

func open(t *testing.T, opening map[string]int64, change ...func(*api.Options)) *shop {
	t.Helper()
	s := &shop{redis: miniredis.RunT(t), log: &bytes.Buffer{}}
	watcher := order.NewWatcher()
	var err error
	s.ledger, err = ledger.Open(t.Context(), ledger.SQLite(), filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{
		Clock: time.Now, ID: newID, Token: token, Changed: watcher.Publish,
		Feed: func(rows []outbox.Row) {
			if feed := s.feed.Load(); feed != nil {
				(*feed)(rows)
			}
		},
	})
	check(t, err)
	t.Cleanup(s.ledger.Close)
	check(t, s.ledger.AddProducts(t.Context(),
		order.Product{SKU: "cola", Name: "Cola <0.33 l>", Price: 250, Currency: "EUR"},
		order.Product{SKU: "water", Name: "Wasser", Price: 100, Currency: "EUR"},
		order.Product{SKU: "gum", Name: "Gum", Price: 90, Currency: "EUR", UserLimit: 2},
		order.Product{SKU: "tea", Name: "お茶", Price: 160, Currency: "JPY"}))
	check(t, s.ledger.AddCabinet(t.Context(), "C001", opening))
	rdb, err := deduct.Open(t.Context(), "redis://"+s.redis.Addr(), deduct.Servers{})
	check(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	s.stock = deduct.New(rdb, deduct.Options{})
	t.Cleanup(s.stock.Close)
	goods := catalogue.New(s.ledger, catalogue.Options{})
	t.Cleanup(goods.Close)
	f := &fence.Fence{Ledger: s.ledger, Stock: s.stock, Log: slog.New(slog.DiscardHandler)}
	s.orders = &order.Service{
		Ledger: s.ledger, Catalogue: goods, Watcher: watcher, Clock: time.Now, Hold: 15 * time.Minute,
		Placer: &order.Fast{Stock: s.stock, Ledger: s.ledger, Fence: f}, Log: slog.New(slog.DiscardHandler),
	}
	opt := api.Options{
		Orders: s.orders, Live: s.stock, Truth: truth{s.ledger}, Catalogue: goods, ID: newID,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	for _, c := range change {
		c(&opt)
	}
	h, err := api.NewServer(opt)
	check(t, err)
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// sellable is what the stock filter would still sell.
func (s *shop) sellable(t *testing.T, sku string) int64 {
	t.Helper()
	units, err := s.stock.Sellable(t.Context(), "C001")
	check(t, err)
	return units[sku]
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (s *shop) post(t *testing.T, key, body string) reply {
	t.Helper()
	return s.send(t, http.MethodPost, "/v1/orders", body, "Content-Type", "application/json", "Idempotency-Key", key)
}

func (s *shop) send(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	check(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	res, err := s.Client().Do(r)
	check(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	check(t, err)
	return reply{res.StatusCode, res.Header, b}
}

// problem reads a refusal and checks what all of them share.
func (r reply) problem(t *testing.T) problem {
	t.Helper()
	var p problem
	check(t, json.Unmarshal(r.body, &p))
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q", got)
	}
	if p.Status != r.status || p.Type != "urn:vendline:problem:"+p.Code || p.Title == "" || p.Detail == "" || p.RequestID == "" {
		t.Fatalf("incomplete problem (HTTP %d): %s", r.status, r.body)
	}
	return p
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Retryable                 bool
	RequestID                 string `json:"request_id"`
	Short                     []struct {
		SKU        string
		Want, Have int
	}
	Errors []struct{ Field, Detail string }
}

type placed struct {
	Order struct {
		ID, Cabinet, User, Status, Currency string
		Amount, Version                     int64
		Lines                               []struct {
			SKU        string
			Qty, Price int64
		}
		CreatedAt time.Time `json:"created_at"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	Payment struct {
		Status, Currency string
		Amount           int64
		DueBy            time.Time `json:"due_by"`
	}
}

func (r reply) order(t *testing.T) placed {
	t.Helper()
	var p placed
	check(t, json.Unmarshal(r.body, &p))
	return p
}

// truth is the ledger's view of a cabinet.
type truth struct{ *ledger.Ledger }

func (t truth) Available(ctx context.Context, cabinet string) (map[string]int64, error) {
	return t.Sellable(ctx, cabinet)
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func token() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeOrders answers with what a test puts in; nil fields are not expected.
type fakeOrders struct {
	place func(context.Context, order.Request) (order.Order, bool, error)
	get   func(context.Context, string) (order.Order, error)
	wait  func(context.Context, string, time.Duration) (order.Order, error)
}

func (f fakeOrders) Place(ctx context.Context, r order.Request) (order.Order, bool, error) {
	return f.place(ctx, r)
}
func (f fakeOrders) Get(ctx context.Context, id string) (order.Order, error) { return f.get(ctx, id) }
func (f fakeOrders) Wait(ctx context.Context, id string, d time.Duration) (order.Order, error) {
	return f.wait(ctx, id, d)
}
func (f fakeOrders) History(context.Context, string) ([]order.Entry, error) {
	return nil, order.ErrUnknown
}
func (f fakeOrders) Watch(context.Context, string) (<-chan struct{}, func()) { return nil, func() {} }
func (f fakeOrders) Cancel(ctx context.Context, id string) (order.Order, error) {
	return f.get(ctx, id)
}

func with(f fakeOrders) func(*api.Options) { return func(o *api.Options) { o.Orders = f } }
