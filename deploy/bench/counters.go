package bench

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"vendline/deploy/stack"
)

// processes whose CPU is told apart.
var processes = []string{"vend-cloud", "mariadb", "redis", "broker", "namesrv", "mosquitto", "load"}

// counters are absolute; compare takes differences.
type counters struct {
	metrics map[string]float64
	waits   int64
	dead    int64
	cpu     map[string]float64
}

func (b *scenario) counters(ctx context.Context) (counters, error) {
	c := counters{cpu: map[string]float64{"load": cpuOf(os.Getpid())}}
	var err error
	if c.metrics, err = scrape(ctx, b.addr); err != nil {
		return c, err
	}
	if c.waits, err = b.status(ctx, "Innodb_row_lock_waits"); err != nil {
		return c, err
	}
	// MariaDB tells deadlocks as a status, MySQL as a metric.
	if c.dead, err = b.status(ctx, "Innodb_deadlocks"); err != nil {
		err = b.db.QueryRowContext(ctx, "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'").Scan(&c.dead)
		if err != nil {
			return c, fmt.Errorf("read deadlocks: %w", err)
		}
	}
	for _, s := range b.stack.Servers() {
		for _, p := range processes {
			if strings.Contains(s.Name(), p) && s.PID() != 0 {
				c.cpu[p] += cpuOf(s.PID())
			}
		}
	}
	return c, nil
}

func (b *scenario) status(ctx context.Context, name string) (n int64, err error) {
	var key string
	if err := b.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&key, &n); err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}

func (b *scenario) compare(before, after counters) {
	orders := max(1, after.metrics["vendline_orders_total"]-before.metrics["vendline_orders_total"])
	s := &b.out.Server
	s.OrderCommitsPerOrder = (after.metrics["vendline_order_commits_total"] - before.metrics["vendline_order_commits_total"]) / orders
	s.StockStatementsPerOrder = (after.metrics["vendline_stock_updates_total"] - before.metrics["vendline_stock_updates_total"]) / orders
	s.LockWaits = after.waits - before.waits
	s.Deadlocks = after.dead - before.dead
	s.CPUSeconds = map[string]float64{}
	for _, p := range processes {
		s.CPUSeconds[p] = after.cpu[p] - before.cpu[p]
	}
}

// scrape reads /metrics as name → value, labels left out.
func scrape(ctx context.Context, addr string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		name, value, ok := strings.Cut(s.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			out[name] = v
		}
	}
	return out, nil
}

// oldest is the age of the oldest statement that step 8 has not applied.
func (b *scenario) oldest(ctx context.Context) (age time.Duration, any bool, err error) {
	var at sql.NullInt64
	if err := b.db.QueryRowContext(ctx, "SELECT MIN(created_at) FROM local_msg WHERE kind = 'stock'").Scan(&at); err != nil {
		return 0, false, fmt.Errorf("read lag: %w", err)
	}
	if !at.Valid {
		return 0, false, nil
	}
	return time.Since(time.UnixMilli(at.Int64)), true, nil
}

// drained waits until nothing is left to apply and says how many ms it took.
func (b *scenario) drained(ctx context.Context) (int64, error) {
	start := time.Now()
	for {
		_, waiting, err := b.oldest(ctx)
		if err != nil {
			return 0, err
		}
		if !waiting {
			return time.Since(start).Milliseconds(), nil
		}
		if time.Since(start) > 2*time.Minute {
			return 0, fmt.Errorf("statements still wait after 2 min")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// watchLag samples the lag until the returned function is called with the end
// of the load: it tells the peak, and how long after the end lag fell below 2 s.
func (b *scenario) watchLag(ctx context.Context) func(end time.Time) (peak, under int64) {
	ctx, stop := context.WithCancel(ctx)
	type sample struct {
		at  time.Time
		age time.Duration
	}
	var samples []sample
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if age, _, err := b.oldest(ctx); err == nil {
				samples = append(samples, sample{time.Now(), age})
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return func(end time.Time) (peak, under int64) {
		stop()
		<-done
		for _, s := range samples {
			peak = max(peak, s.age.Milliseconds())
			if s.at.After(end) && s.age > 2*time.Second {
				under = s.at.Sub(end).Milliseconds()
			}
		}
		return peak, under
	}
}

// cpuOf reads a process's user and system time, in seconds.
func cpuOf(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100 // USER_HZ is 100 on every Linux we run on
}

func machine(ctx context.Context, d *stack.Description) Machine {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(b), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			kb, _ := strconv.Atoi(f[1])
			m.MemGB = (kb + 1<<19) >> 20
		}
	}
	if db, err := sql.Open("mysql", d.MySQLDSN); err == nil {
		_ = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&m.MariaDB)
		_ = db.Close()
	}
	m.Redis = redisVersion(ctx, d.RedisAddr)
	return m
}
