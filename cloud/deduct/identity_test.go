package deduct_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
)

// diary is a ledger's memory of servers, which notes what was going on when a
// fence was drawn.
type diary struct {
	mu      sync.Mutex
	met     map[string]int64
	fences  []string // place or reason, in order
	refuses error
}

func (d *diary) Meet(_ context.Context, s fence.Server) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses != nil {
		return false, d.refuses
	}
	if _, known := d.met[s.Identity]; known {
		return false, nil
	}
	d.met[s.Identity] = s.Evicted
	d.fences = append(d.fences, "met")
	return true, nil
}

func (d *diary) Dropped(_ context.Context, s fence.Server) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Evicted <= d.met[s.Identity] {
		return false, nil
	}
	d.met[s.Identity] = s.Evicted
	d.fences = append(d.fences, "dropped")
	return true, nil
}

func (d *diary) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.fences)
}

// private is a redis-server of one test, that can be killed and started again.
type private struct {
	t    *testing.T
	port int
	dir  string
	args []string
	cmd  *exec.Cmd
}

func startPrivate(t *testing.T, args ...string) *private {
	t.Helper()
	p := &private{t: t, port: freePort(t), dir: t.TempDir(), args: args}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *private) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

func (p *private) start() {
	p.t.Helper()
	p.cmd = exec.Command("redis-server", append([]string{"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", p.dir, "--save", "", "--appendonly", "yes"}, p.args...)...)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: p.addr()})
	defer c.Close()
	await(p.t, p.t.Context(), func() bool { return c.Ping(p.t.Context()).Err() == nil })
}

func (p *private) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func client(t *testing.T, url string, d *diary) (redis.UniversalClient, *fence.Gate) {
	t.Helper()
	gate := &fence.Gate{Ledger: d}
	c, err := deduct.Client(url, deduct.Servers{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, gate
}

// A restart that lost nothing, one on older files, and one on none: each is a
// server that nobody has met, and it is met before it answers anybody.
func TestARestartedRedisIsFencedBeforeItServes(t *testing.T) {
	if testing.Short() {
		return
	}
	p := startPrivate(t)
	d := &diary{met: map[string]int64{}}
	c, _ := client(t, "redis://"+p.addr(), d)
	ctx := t.Context()
	fences := func(want int, what string) {
		t.Helper()
		await(t, ctx, func() bool { return c.Incr(ctx, "n").Err() == nil })
		if got := d.count(); got != want {
			t.Errorf("%s: %d fences, want %d", what, got, want)
		}
	}
	fences(1, "the first start")
	fences(1, "again")
	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(filepath.Join(p.dir, "appendonlydir"))); err != nil {
		t.Fatal(err)
	}
	p.kill()
	p.start()
	fences(2, "a restart")
	for what, files := range map[string]string{"older files": old, "no files": ""} {
		before := d.count()
		p.kill()
		if err := os.RemoveAll(filepath.Join(p.dir, "appendonlydir")); err != nil {
			t.Fatal(err)
		}
		if files != "" {
			if err := os.CopyFS(filepath.Join(p.dir, "appendonlydir"), os.DirFS(files)); err != nil {
				t.Fatal(err)
			}
		}
		p.start()
		fences(before+1, what)
	}
	if err := c.FlushAll(ctx).Err(); err != nil { // told by every cabinet's missing generation
		t.Fatal(err)
	}
	fences(4, "emptied")
}

// While the ledger can not say whether a server is known, nothing reaches it.
func TestARedisThatNobodyKnowsServesNobody(t *testing.T) {
	if testing.Short() {
		return
	}
	p := startPrivate(t)
	away := errors.New("the ledger is away")
	d := &diary{met: map[string]int64{}, refuses: away}
	c, _ := client(t, "redis://"+p.addr(), d)
	if err := c.Incr(t.Context(), "n").Err(); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	d.mu.Lock()
	d.refuses = nil
	d.mu.Unlock()
	if n, err := c.Incr(t.Context(), "n").Result(); n != 1 || err != nil {
		t.Errorf("the first that it serves is number %d, %v", n, err)
	}
}

// A replica is refused, so that a promotion is met by new connections.
func TestAPromotedReplicaIsFencedBeforeItServes(t *testing.T) {
	if testing.Short() {
		return
	}
	master, replica := startPrivate(t), startPrivate(t)
	d := &diary{met: map[string]int64{}}
	m, _ := client(t, "redis://"+master.addr(), d)
	r, _ := client(t, "redis://"+replica.addr(), d)
	ctx := t.Context()
	admin := redis.NewClient(&redis.Options{Addr: replica.addr()})
	defer admin.Close()
	if err := admin.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(master.port)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := m.Set(ctx, "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, func() bool { return admin.Get(ctx, "k").Val() == "1" })
	if err := r.Get(ctx, "k").Err(); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("the replica says %v", err)
	}
	before := d.count()
	master.kill()
	if err := admin.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Get(ctx, "k").Err(); err != nil || d.count() != before+1 {
		t.Errorf("after the promotion: %v, %d fences", err, d.count())
	}
}

// A Redis that drops keys to make room is seen by the watch.
func TestDroppedKeysAreFenced(t *testing.T) {
	if testing.Short() {
		return
	}
	p := startPrivate(t, "--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru")
	d := &diary{met: map[string]int64{}}
	c, gate := client(t, "redis://"+p.addr(), d)
	s := deduct.New(c, deduct.Options{})
	t.Cleanup(s.Close)
	w := &fence.Watch{Masters: s, Gate: gate, Clock: time.Now, Log: quiet()}
	w.Look(t.Context())
	before := d.count()
	for i := range 3000 {
		if err := c.Set(t.Context(), "k"+strconv.Itoa(i), strings.Repeat("x", 1000), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.Look(t.Context())
	if _, why := w.Away(); why != nil || d.count() <= before {
		t.Errorf("%v; fences %v", why, d.fences)
	}
	now := d.count()
	w.Look(t.Context())
	if d.count() != now {
		t.Error("the same keys are fenced twice")
	}
	p.kill()
	w.Look(t.Context())
	if since, why := w.Away(); why == nil || since.IsZero() {
		t.Error("nobody notices that it is away")
	}
	p.start()
	w.Look(t.Context())
	if _, why := w.Away(); why != nil {
		t.Errorf("it is back: %v", why)
	}
}

func TestAddressesOfManyServers(t *testing.T) {
	for url, want := range map[string]string{
		"redis-cluster://h:1,h:2":       "*redis.ClusterClient",
		"redis-cluster://u:p@h:1":       "*redis.ClusterClient",
		"redis-sentinel://h:1,h:2/vend": "*redis.Client",
		"redis-sentinel://h:1":          "needs the master's name",
		"redis-cluster://h:1/3":         "no database",
		"redis-cluster://h:1,,h:2":      "needs host:port",
		"http://h:1":                    "redis url",
	} {
		c, err := deduct.Client(url, deduct.Servers{})
		got := typeName(c)
		if err != nil {
			got = err.Error()
		} else {
			_ = c.Close()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
}

func typeName(c redis.UniversalClient) string { return fmt.Sprintf("%T", c) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
