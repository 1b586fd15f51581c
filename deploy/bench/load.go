package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

// Load is what was offered and what became of it.
type Load struct {
	OfferedPerSecond  float64 `json:"offered_per_second,omitempty"` // 0 for a closed loop
	Connections       int     `json:"connections"`
	Seconds           float64 `json:"seconds"`
	Accepted          int64   `json:"accepted"`
	Errors            int64   `json:"errors"`
	AcceptedPerSecond float64 `json:"accepted_per_second"`
	P50ms             float64 `json:"p50_ms"`
	P95ms             float64 `json:"p95_ms"`
	P99ms             float64 `json:"p99_ms"`
	FirstError        string  `json:"first_error,omitempty"`
}

// target is where orders go and what they ask for.
type target struct {
	addr     string
	cabinets []string
	skus     []string
}

// body builds the n-th order: three lines of one to two units.
func (t target) body(b []byte, n int) []byte {
	b = append(b[:0], `{"cabinet":"`...)
	b = append(b, t.cabinets[n%len(t.cabinets)]...)
	b = append(b, `","user":"u`...)
	b = strconv.AppendInt(b, int64(n), 10) // a shopper of its own: a second order would replace the first
	b = append(b, `","lines":[`...)
	for i := range 3 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"sku":"`...)
		b = append(b, t.skus[(n+i*7)%len(t.skus)]...)
		b = append(b, `","qty":`...)
		b = strconv.AppendInt(b, int64(1+(n+i)%2), 10)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// shooter sends orders over connections that stay open.
type shooter struct {
	t      target
	client *fasthttp.HostClient
	n      atomic.Int64
	bad    atomic.Int64
	first  atomic.Pointer[string]
}

func newShooter(t target, conns int) *shooter {
	s := &shooter{t: t, client: &fasthttp.HostClient{
		Addr: t.addr, MaxConns: conns, ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second, MaxIdleConnDuration: time.Minute,
		Dial: func(a string) (net.Conn, error) { return net.DialTimeout("tcp", a, 5*time.Second) },
	}}
	s.n.Store(rand.Int64N(1 << 40)) // shoppers that no other run of this process had
	return s
}

// shoot sends one order under a new key; ok means 201.
func (s *shooter) shoot(req *fasthttp.Request, resp *fasthttp.Response) (ok bool) {
	req.Reset()
	req.Header.SetMethod("POST")
	req.SetRequestURI("/v1/orders")
	req.Header.SetHost(s.t.addr)
	req.Header.SetContentType("application/json")
	req.Header.Set("Idempotency-Key", uuid.Must(uuid.NewV7()).String())
	req.SetBodyRaw(s.t.body(nil, int(s.n.Add(1))))
	err := s.client.Do(req, resp)
	if err == nil && resp.StatusCode() == 201 {
		return true
	}
	s.bad.Add(1)
	if s.first.Load() == nil {
		msg := fmt.Sprintf("%v, status %d: %.200s", err, resp.StatusCode(), resp.Body())
		s.first.CompareAndSwap(nil, &msg)
	}
	return false
}

// closed keeps conns connections busy for d: each sends its next order when it
// has heard of the last.
func closed(ctx context.Context, t target, conns int, d time.Duration) Load {
	s := newShooter(t, conns)
	end := time.Now().Add(d)
	start := time.Now()
	lat := each(conns, func(int) (mine []time.Duration) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		for time.Now().Before(end) && ctx.Err() == nil {
			t0 := time.Now()
			if s.shoot(req, resp) {
				mine = append(mine, time.Since(t0))
			}
		}
		return mine
	})
	return s.report(Load{Connections: conns}, lat, time.Since(start))
}

// open offers rate orders a second for d, whatever becomes of the earlier ones.
// Latency counts from the instant an order was due, so that a server that stalls
// cannot hide the orders it kept waiting.
func open(ctx context.Context, t target, rate float64, conns int, d time.Duration) Load {
	s := newShooter(t, conns)
	start := time.Now()
	total := int64(rate * d.Seconds())
	var next atomic.Int64
	lat := each(conns, func(int) (mine []time.Duration) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		for ctx.Err() == nil {
			n := next.Add(1) - 1
			if n >= total {
				return mine
			}
			due := start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
			time.Sleep(time.Until(due))
			if s.shoot(req, resp) {
				mine = append(mine, time.Since(due))
			}
		}
		return mine
	})
	return s.report(Load{OfferedPerSecond: rate, Connections: conns}, lat, time.Since(start))
}

func each(n int, work func(i int) []time.Duration) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			mine := work(i)
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

func (s *shooter) report(l Load, lat []time.Duration, took time.Duration) Load {
	l.Seconds = took.Seconds()
	l.Accepted = int64(len(lat))
	l.Errors = s.bad.Load()
	l.AcceptedPerSecond = float64(l.Accepted) / l.Seconds
	l.P50ms, l.P95ms, l.P99ms = quantile(lat, .50), quantile(lat, .95), quantile(lat, .99)
	if msg := s.first.Load(); msg != nil {
		l.FirstError = *msg
	}
	s.client.CloseIdleConnections()
	return l
}

// quantile of sorted durations, in ms.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}
