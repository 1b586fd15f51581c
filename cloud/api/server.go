// Package api is the mobile side: HTTP for phones, and the health of the
// process. It enters the path at step 5 of 8, through the same order.Place that
// cabinets use over MQTT.
//
// Files: place.go, follow.go and cabinet.go hold the endpoints; problem.go the
// one table of refusals; serve.go how a process listens, and stops.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"

	"vendline/cloud/order"
)

// Options of a Server. Orders, Truth, Catalogue and ID are required.
type Options struct {
	Orders     Orders
	Intents    Intents                // nil means that Prefer: respond-async is not followed
	Callback   func(url string) error // what is wrong with a callback URL; nil means that nobody is called back
	Payments   Payments               // nil means that nobody pays here
	Live       Live                   // nil in the synchronous mode
	Truth      Truth
	Catalogue  order.Catalogue
	Connection func(cabinet string) Connection // nil means that nobody knows
	Checks     []Check

	Registry *prometheus.Registry // nil means one of its own
	Clock    func() time.Time     // nil means time.Now; for measuring, never for deadlines
	ID       func() string        // mints request ids
	Log      *slog.Logger         // nil means silence

	MaxPlacing int           // orders being placed at once; 0 means 4096
	MaxWaiting int           // callers in ?wait= at once; 0 means 10,000
	Drain      time.Duration // how long Serve lets requests finish when told to stop; 0 means 20 s
}

// Server is the API as an http.Handler. Safe for concurrent use.
type Server struct {
	opt        Options
	engine     *gin.Engine
	metrics    *metrics
	origin     http.CrossOriginProtection
	placing    gate
	waiting    gate
	paying     gate
	buffers    sync.Pool
	complaints *rate.Limiter
	unsaid     atomic.Int64
	down       []atomic.Bool // by check: it failed last time

	draining context.Context // ends when Serve is told to stop
	drain    context.CancelFunc
}

// NewServer returns the API. Handle adds routes to it before it serves.
func NewServer(opt Options) (*Server, error) {
	if opt.Orders == nil || opt.Truth == nil || opt.Catalogue == nil || opt.ID == nil {
		return nil, errors.New("api: Orders, Truth, Catalogue and ID are required")
	}
	s := &Server{opt: opt.withDefaults(), complaints: newComplaints(), down: make([]atomic.Bool, len(opt.Checks))}
	s.placing.most, s.waiting.most, s.paying.most = int64(s.opt.MaxPlacing), int64(s.opt.MaxWaiting), int64(s.opt.MaxPlacing)
	s.draining, s.drain = context.WithCancel(context.Background())
	var err error
	if s.metrics, err = newMetrics(s.opt.Registry, s); err != nil {
		return nil, err
	}
	if err := s.route(); err != nil {
		return nil, err
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Payments == nil {
		o.Payments = noPayments{}
	}
	if o.Connection == nil {
		o.Connection = func(string) Connection { return Unknown }
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxPlacing <= 0 {
		o.MaxPlacing = 4096
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 10_000
	}
	if o.Drain <= 0 {
		o.Drain = 20 * time.Second
	}
	return o
}

func (s *Server) route() error {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	// gin trusts every proxy's X-Forwarded-For unless told otherwise.
	if err := e.SetTrustedProxies(nil); err != nil {
		return err
	}
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.Use(s.edge)
	e.NoRoute(s.notFound)
	e.NoMethod(s.methodNotAllowed)

	e.POST(pathOrders, s.place)
	e.GET(pathOrders+"/:id", s.follow)
	e.GET(pathOrders+"/:id/events", s.events)
	e.POST(pathOrders+"/:id/cancel", s.cancel)
	e.POST(pathOrders+"/:id/payments", s.pay)
	e.GET(pathOrders+"/:id/payments", s.payments)
	e.POST(pathNotify, s.notify)
	s.origin.AddInsecureBypassPattern("POST /v1/payments/{provider}/notify")
	e.GET("/v1/cabinets/:id", s.cabinet)
	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.GET("/openapi.json", s.openapi)
	e.GET("/metrics", gin.WrapH(promhttp.HandlerFor(s.opt.Registry, promhttp.HandlerOpts{})))
	s.engine = e
	return nil
}

// Handle adds a route. Path parameters are written :name and read with
// http.Request.PathValue.
func (s *Server) Handle(method, path string, h http.Handler) {
	s.engine.Handle(method, path, func(c *gin.Context) {
		for _, p := range c.Params {
			c.Request.SetPathValue(p.Key, p.Value)
		}
		h.ServeHTTP(c.Writer, c.Request)
	})
}

// OnDrain calls stop when the server is told to stop, so that answers without
// an end of their own (event streams) end then.
func (s *Server) OnDrain(stop func()) { context.AfterFunc(s.draining, stop) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }
