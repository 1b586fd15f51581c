package scan

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

// Box is the outbox as the API needs it. *outbox.Outbox is one.
type Box interface {
	// Append stores an entry and returns once it is on the disk.
	Append(ctx context.Context, e outbox.Entry) (outbox.Receipt, error)
	// Lookup tells what became of an id.
	Lookup(id string) (outbox.Found, error)
	// Watch returns a channel that is closed when id is settled.
	Watch(id string) (settled <-chan struct{}, stop func())

	Epoch() string
	Gap() bool
	Depth() int64
	Parked() int64
	OldestAge() time.Duration
	Tombstones(n int) ([]outbox.Tombstone, error)
	Size() int64
	SetAside() string
	Err() error
}

// Link is the uplink as the API needs it. *uplink.Uplink is one.
type Link interface {
	Status() uplink.Status
	// Reason is the cloud's last word on a row it asked to be sent again later.
	Reason(seq int64) (wire.Code, string)
}

// Config of the API. All fields are required but Version and the limits.
type Config struct {
	Cabinet string
	Version string
	Box     Box
	Link    Link
	Shelf   *Shelf
	// The rules behind commands, offline sales and the planogram.
	Commands  Commands
	Allowance Allowance
	Planogram Planogram

	Mint *ident.Mint
	Now  func() time.Time     // wall clock, written into events and used for nothing else
	Mono func() time.Duration // monotonic
	Log  *slog.Logger

	MaxPosts int // posts at once; 0 means 256
	MaxWaits int // long polls at once; 0 means 256
}

type api struct {
	Config
	posts, waits chan struct{}
	stop         context.Context // ended by shutdown, so that long polls answer
}

// maxBody bounds a posted body. The largest valid one is far smaller.
const maxBody = 16 << 10

// Serve answers on l until ctx ends, then lets running requests finish.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	srv := &http.Server{
		Handler:           newHandler(ctx, cfg),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second, // a long poll extends its own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		ended <- srv.Shutdown(grace)
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// newHandler is the API without a listener. Long polls end with ctx.
func newHandler(ctx context.Context, cfg Config) http.Handler {
	a := &api{Config: cfg, stop: ctx}
	if a.MaxPosts <= 0 {
		a.MaxPosts = 256
	}
	if a.MaxWaits <= 0 {
		a.MaxWaits = 256
	}
	a.posts, a.waits = make(chan struct{}, a.MaxPosts), make(chan struct{}, a.MaxWaits)
	mux := http.NewServeMux()
	for _, r := range []struct {
		method, path string
		serve        func(http.ResponseWriter, *http.Request) error
	}{
		{"POST", "/v1/scan-orders", a.postOrder},
		{"POST", "/v1/facts", a.postFact},
		{"POST", "/v1/offline-sales", a.postOfflineSale},
		{"GET", "/v1/orders/{id}", a.getOrder},
		{"GET", "/v1/commands", a.getCommands},
		{"GET", "/v1/commands/{id}", a.getCommand},
		{"POST", "/v1/commands/{id}/result", a.postResult},
		{"GET", "/v1/planogram", a.getPlanogram},
		{"GET", "/v1/stock", a.getStock},
		{"GET", "/v1/health", a.getHealth},
	} {
		mux.Handle(r.method+" "+r.path, a.endpoint(r.serve))
		mux.Handle(r.path, a.endpoint(func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", r.method)
			return problemf(http.StatusMethodNotAllowed, wire.CodeInvalidRequest, "use %s", r.method)
		}))
	}
	mux.Handle("/", a.endpoint(func(http.ResponseWriter, *http.Request) error {
		return problemf(http.StatusNotFound, wire.CodeNotFound, "no such resource; see /v1/health")
	}))
	// A browser on the cabinet's screen must not be talked into posting sales.
	return http.NewCrossOriginProtection().Handler(mux)
}

// endpoint turns a handler's error into a problem, in one place.
func (a *api) endpoint(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := a.requestID(r)
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				a.Log.Error("request panicked", "path", r.URL.Path, "request_id", id, "panic", p)
				writeProblem(w, id, problemf(http.StatusInternalServerError, wire.CodeInternal, "internal error"))
			}
		}()
		if err := serve(w, r); err != nil {
			p := problemOf(err)
			if p.Status >= 500 {
				a.Log.Error("request failed", "path", r.URL.Path, "request_id", id, "err", err)
			}
			writeProblem(w, id, p)
		}
	})
}

func (a *api) requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); wire.ValidSKU(id) { // short and harmless in a log
		return id
	}
	id, err := a.Mint.V7()
	if err != nil {
		return "unknown"
	}
	return id
}

// enter takes a place, or says that there is none.
func enter(places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, problemf(http.StatusServiceUnavailable, wire.CodeOverloaded, "too many requests at once; try again")
	}
}
