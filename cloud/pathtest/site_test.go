// Package pathtest plays the whole path of an order, from the first ask to the
// settled stock row, with the real code of the cloud, and kills the process
// between any two of its durable steps.
package pathtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"vendline/cloud/ledger"
	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

const cabinet = "C1"

// site is what outlives a process: the database, Redis, the queue, the time.
type site struct {
	t       *testing.T
	ctx     context.Context
	file    string // the database
	db      *sql.DB
	redis   *miniredis.Miniredis
	queue   *carrier
	opening ledgertest.Stock
	faults  faults
	machine machine
	tills   map[string]*till

	mu     sync.Mutex
	now    time.Time
	serial int64
}

// empty is a database with its schema, one cabinet and its catalogue, copied
// for each site.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "vendline-path-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "l.db")
	l, err := ledger.Open(ctx, ledger.SQLite(), file, ledger.Options{Clock: time.Now, ID: func() string { return "" }, Token: func() string { return "a0" }})
	if err != nil {
		return nil, err
	}
	if err := l.AddCabinet(ctx, cabinet, opening()); err != nil {
		return nil, err
	}
	l.Close()
	return os.ReadFile(file)
})

func opening() ledgertest.Stock { return ledgertest.Stock{"cola": 12, "chips": 8} }

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, ctx: t.Context(), file: filepath.Join(t.TempDir(), "l.db"), redis: miniredis.RunT(t), queue: &carrier{},
		opening: opening(), now: time.UnixMilli(1_800_000_000_000).UTC()}
	s.tills = map[string]*till{"till": newTill("till", s.Now), "kiosk": newTill("kiosk", s.Now)}
	schema, err := empty()
	s.ok(err)
	s.ok(os.WriteFile(s.file, schema, 0o600))
	s.db, err = sql.Open("sqlite", "file:"+s.file+"?_pragma=busy_timeout(10000)")
	s.ok(err)
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Now is the time at the site; it moves when told to.
func (s *site) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	s.redis.FastForward(d)
}

// id mints a UUIDv7.
func (s *site) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	at := s.now.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, s.serial)
}

func (s *site) token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("%012x", s.serial)
}

// generation is the cabinet's current one.
func (s *site) generation() string {
	s.t.Helper()
	var own, fleet string
	s.ok(s.db.QueryRowContext(s.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?", cabinet).Scan(&own))
	s.ok(s.db.QueryRowContext(s.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = '*'").Scan(&fleet))
	return own + "." + fleet
}

// lost is how many holds were taken back for want of stock.
func (s *site) lost() (n int) {
	s.t.Helper()
	s.ok(s.db.QueryRowContext(s.ctx, "SELECT COUNT(*) FROM trade_order WHERE cause = 'stock short'").Scan(&n))
	return n
}

// products are what is sold here; nobody may hold more than four chips.
type products struct{}

func (products) Product(_ context.Context, _, sku string) (order.Offer, bool, error) {
	p, ok := map[string]order.Product{
		"cola":  {SKU: "cola", Price: 250, Currency: "EUR"},
		"chips": {SKU: "chips", Price: 300, Currency: "EUR", UserLimit: 4},
	}[sku]
	return order.Offer{Product: p}, ok, nil
}

func (products) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, nil
}

// dump is what Redis holds, as a snapshot file would.
type dump struct {
	texts  map[string]string
	hashes map[string]map[string]string
	ttls   map[string]time.Duration
}

func (s *site) dump() dump {
	s.t.Helper()
	d := dump{map[string]string{}, map[string]map[string]string{}, map[string]time.Duration{}}
	for _, key := range s.redis.Keys() {
		// Settling goes on behind the queue's back: a list of holds may be gone,
		// or go, while it is copied.
		fields, err := s.redis.HKeys(key)
		switch text, notText := s.redis.Get(key); {
		case notText == nil:
			d.texts[key] = text
		case err == nil:
			d.hashes[key] = map[string]string{}
			for _, f := range fields {
				d.hashes[key][f] = s.redis.HGet(key, f)
			}
		case errors.Is(err, miniredis.ErrKeyNotFound):
			continue
		default:
			s.ok(err)
		}
		d.ttls[key] = s.redis.TTL(key)
	}
	return d
}

// restore lets Redis come back with an older dump: it lost what came after.
func (s *site) restore(d dump) {
	s.t.Helper()
	s.redis.FlushAll()
	for key, text := range d.texts {
		s.ok(s.redis.Set(key, text))
	}
	for key, fields := range d.hashes {
		for f, v := range fields {
			s.redis.HSet(key, f, v)
		}
	}
	for key, ttl := range d.ttls {
		if ttl > 0 {
			s.redis.SetTTL(key, ttl)
		}
	}
}
