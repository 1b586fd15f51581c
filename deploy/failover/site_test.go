package failover

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	_ "github.com/go-sql-driver/mysql" // the driver of the stack's DSN

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/deploy/launch"
	"vendline/deploy/stack"
	"vendline/lua"
)

const (
	cabinets = 12
	stocked  = 30 // units of cola in each
)

func cabinet(n int) string { return fmt.Sprintf("F%03d", n+1) }

// site is vend-cloud on a real MariaDB and several real redis-servers.
type site struct {
	t      *testing.T
	stack  *stack.Stack
	db     *sql.DB
	url    string
	client *http.Client
	began  time.Time

	history History

	mu       sync.Mutex
	doubtful []string // cabinets whose master fails over right now
	accepted map[string][]time.Time
	oversold int64
}

func openSite(t *testing.T, o stack.Options) *site {
	t.Helper()
	o.MariaDB = true
	s := &site{t: t, stack: stack.Own(t, o), began: time.Now(), accepted: map[string][]time.Time{}, client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	d, err := s.stack.Description()
	s.ok(err)
	s.db, err = sql.Open("mysql", d.MySQLDSN)
	s.ok(err)
	t.Cleanup(func() { _ = s.db.Close() })
	l, err := ledger.Open(t.Context(), ledger.MySQL(), d.MySQLDSN, ledger.Options{Clock: time.Now, ID: app.NewID, Token: app.NewToken})
	s.ok(err)
	s.ok(l.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	for n := range cabinets {
		s.ok(l.AddCabinet(t.Context(), cabinet(n), map[string]int64{"cola": stocked}))
	}
	l.Close()
	bin := filepath.Join(t.TempDir(), "vend-cloud")
	out, err := exec.Command("go", "build", "-o", bin, "vendline/cloud/cmd/vend-cloud").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	addr, err := launch.FreeAddr()
	s.ok(err)
	s.url = "http://" + addr
	_, err = s.stack.Add(t.Context(), stack.Process{Name: "vend-cloud", Program: bin, Addr: addr, Args: []string{
		"--http", addr, "--ledger", "mysql:" + d.MySQLDSN, "--stock", d.StockURL, "--queue", "bolt:" + filepath.Join(s.stack.Dir, "queue.db"), "--hold", "10m", "--grace", "8s",
	}, Ready: func(ctx context.Context) error { return launch.Answers(ctx, s.url+"/readyz") }})
	s.ok(err)
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// failingOver names the cabinets whose master fails over from now on.
func (s *site) failingOver(some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubtful = some
}

func (s *site) doubted(c string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.doubtful, c)
}

// load has people order, and cancel, until ctx ends: as many at each cabinet, so
// that those who wait at one are missing at no other.
func (s *site) load(ctx context.Context, each int) (wait func()) {
	var all sync.WaitGroup
	for n := range each * cabinets {
		r := rand.New(rand.NewPCG(uint64(n), 5))
		all.Go(func() {
			for ctx.Err() == nil {
				s.shop(cabinet(n%cabinets), r)
			}
		})
	}
	return all.Wait
}

// shop is one shopper: new every time, so that nobody's hold replaces another.
func (s *site) shop(c string, r *rand.Rand) {
	key := app.NewID()
	o := Op{Kind: Take, Units: 1 + r.IntN(3), Called: time.Since(s.began), Doubted: s.doubted(c)}
	status, body := s.insist("/v1/orders", key, fmt.Sprintf(`{"cabinet":%q,"user":"u-%s","lines":[{"sku":"cola","qty":%d}]}`, c, key, o.Units))
	o.Back, o.Yes, o.Unknown = time.Since(s.began), status == http.StatusCreated, status == 0
	o.Doubted = o.Doubted || s.doubted(c)
	if status != http.StatusCreated && status != 0 && !strings.Contains(body, `"stock_short"`) {
		s.t.Errorf("an order at %s: %d %s", c, status, body)
	}
	s.history.Add(c, o)
	if o.Yes {
		s.mu.Lock()
		s.accepted[c] = append(s.accepted[c], time.Now())
		s.mu.Unlock()
	}
	time.Sleep(time.Duration(50+r.IntN(200)) * time.Millisecond)
	if !o.Yes || r.IntN(20) == 0 {
		return
	}
	g := Op{Kind: Give, Units: o.Units, Called: time.Since(s.began)}
	status, _ = s.insist("/v1/orders/"+key+"/cancel", "", "")
	g.Back, g.Yes, g.Unknown = time.Since(s.began), status == http.StatusOK, status != http.StatusOK
	s.history.Add(c, g)
}

// insist repeats the very same request until there is a definite answer; 0 after
// 30 s without.
func (s *site) insist(path, key, body string) (status int, text string) {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewBufferString(body))
		if err != nil {
			return 0, err.Error()
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		res, err := s.client.Do(req)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil && res.StatusCode < 500 && !strings.Contains(string(b), `"retryable":true`) {
			return res.StatusCode, string(b)
		}
	}
	return 0, ""
}

// sample looks, until ctx ends, whether more is promised than there is.
func (s *site) sample(ctx context.Context) {
	for ctx.Err() == nil {
		rows, err := s.db.QueryContext(ctx, `SELECT SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
			WHERE o.status IN ('PRE_RESERVED', 'CONSUMED') GROUP BY o.cabinet_id`)
		for err == nil && rows.Next() {
			var n int64
			if rows.Scan(&n) == nil && n > stocked {
				s.mu.Lock()
				s.oversold = max(s.oversold, n-stocked)
				s.mu.Unlock()
			}
		}
		if err == nil {
			_ = rows.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// generations are all cabinets' current ones.
func (s *site) generations(ctx context.Context) map[string]string {
	all, fleet := map[string]string{}, ""
	rows, err := s.db.QueryContext(ctx, "SELECT cabinet_id, generation FROM trade_cabinet")
	s.ok(err)
	defer rows.Close()
	for rows.Next() {
		var c, g string
		s.ok(rows.Scan(&c, &g))
		if c == "*" {
			fleet = g
		}
		all[c] = g
	}
	for c := range all {
		all[c] += "." + fleet
	}
	return all
}

// incidents counts the masters that were met since.
func (s *site) incidents(ctx context.Context, since time.Time) (n int) {
	_ = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM stock_incident WHERE reason = 'unmet' AND at >= ?", since.UnixMilli()).Scan(&n)
	return n
}

// sold counts the orders accepted at some cabinets since.
func (s *site) sold(since time.Time, some []string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range some {
		for _, at := range s.accepted[c] {
			if at.After(since) {
				n++
			}
		}
	}
	return n
}

// judge lets everything come to rest and checks it.
func (s *site) judge(lag time.Duration) {
	t := s.t
	opening := map[string]ledgertest.Stock{}
	for n := range cabinets {
		opening[cabinet(n)] = ledgertest.Stock{"cola": stocked}
	}
	var last string
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var rows int
		s.ok(s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM local_msg WHERE kind IN ('stock', 'redis')").Scan(&rows))
		if last = s.reconcile(); rows == 0 && last == fmt.Sprintf("%d equal", cabinets) {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("a minute later %d rows wait, and reconciliation says %s", rows, last)
		}
	}
	wrong, err := ledgertest.Audit(t.Context(), s.db, opening)
	s.ok(err)
	for _, w := range wrong {
		t.Error(w)
	}
	if s.oversold > 0 {
		t.Errorf("%d units were oversold", s.oversold)
	}
	var losers int
	s.ok(s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM trade_order WHERE cause = 'stock short'").Scan(&losers))
	if losers > 0 {
		t.Errorf("%d orders were taken back for want of stock", losers)
	}
	unknown := 0 // histories with too many cancellations at once to be told in time
	for n := range cabinets {
		ops := s.history.Ops(cabinet(n))
		switch got := Check(ops, stocked, lag, 10*time.Second); got {
		case porcupine.Ok:
		case porcupine.Unknown:
			unknown++
		default:
			t.Errorf("the history of %s is %s, of %d operations", cabinet(n), got, len(ops))
		}
	}
	if unknown > cabinets/3 {
		t.Errorf("%d of %d histories could not be judged in time", unknown, cabinets)
	}
}

// reconcile compares all cabinets without repairing, and says what came out.
func (s *site) reconcile() string {
	res, err := http.Post(s.url+"/v1/fleet/reconcile", "application/json", strings.NewReader(`{"all":true,"dry_run":true}`))
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	var v struct {
		Report *struct{ Equal, Findings, Stale, Failed int }
	}
	if err := json.Unmarshal([]byte(all[len(all)-1]), &v); err != nil || v.Report == nil {
		return string(b)
	}
	if v.Report.Findings > 0 {
		s.t.Errorf("Redis differs from the ledger: %s", b)
	}
	if v.Report.Equal == cabinets {
		return fmt.Sprintf("%d equal", v.Report.Equal)
	}
	return fmt.Sprintf("%+v", *v.Report)
}

// shared lists the cabinets that are served by the same master as c, and the others.
func (s *site) shared(c string) (with, without []string) {
	for n := range cabinets {
		other := cabinet(n)
		if len(s.stack.Sentinels) > 0 || lua.Slot(other)*3/16384 == lua.Slot(c)*3/16384 {
			with = append(with, other)
		} else {
			without = append(without, other)
		}
	}
	return with, without
}

// gap is the longest time without an accepted order since from, over some cabinets.
func (s *site) gap(since time.Time, some []string) (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range some {
		last := since
		for _, at := range s.accepted[c] {
			if at.After(last) {
				longest = max(longest, at.Sub(last))
				last = at
			}
		}
		longest = max(longest, time.Since(last)) // and since then, if there was none
	}
	return longest
}

// felt is what those who ordered at some cabinets since then felt of a blow.
func (s *site) felt(since time.Time, some []string) (slowest time.Duration, no, yes int) {
	for _, c := range some {
		for _, o := range s.history.Ops(c) {
			if o.Kind != Take || o.Back < since.Sub(s.began) {
				continue
			}
			slowest = max(slowest, o.Back-o.Called)
			if o.Yes {
				yes++
			} else {
				no++
			}
		}
	}
	return slowest, no, yes
}
