package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"vendline/cloud/payment"
)

// Options is what the Server needs to know.
type Options struct {
	PublicURL string // where shoppers reach it, "http://192.168.1.5:8090"
	Secret    string // shared with the Provider
	Merchant  string
	File      string // of its charges; empty keeps them in memory alone

	HTTP  *http.Client                         // sends callbacks; default: one with a timeout of 5 s that follows no redirect
	Clock func() time.Time                     // default: time.Now
	After func(time.Duration) <-chan time.Time // default: time.After
	Nonce func() string                        // also for its numbers of payments; default: random
	Log   *slog.Logger
}

// Server is the other side of the Provider: an API, a page to pay on, and
// callbacks until they are heard. Run sends the callbacks.
type Server struct {
	opt   Options
	shelf *shelf
	mux   *http.ServeMux
	page  *template.Template
	wake  chan struct{} // a callback may be due sooner than Run thinks
	slots chan struct{} // callbacks on their way at once

	mu      sync.Mutex
	charges map[string]*charge
	owed    map[string]bool // callbacks to be sent; true while one is on its way
	failed  map[string]int  // stumbles so far, by operation and id
}

// NewServer opens the file, if there is one, with the charges of before.
func NewServer(opt Options) (*Server, error) {
	if len(opt.Secret) < minSecret {
		return nil, errSecret
	}
	if opt.Merchant == "" {
		return nil, errors.New("sandbox: a merchant is needed; any name will do, the same as the provider's")
	}
	if u, err := url.Parse(opt.PublicURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("sandbox: %q is not an address that shoppers can open", opt.PublicURL)
	}
	opt.fill()
	page, err := parsePage()
	if err != nil {
		return nil, fmt.Errorf("sandbox: the page: %w", err)
	}
	shelf, charges, err := openShelf(opt.File)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: opt, shelf: shelf, mux: http.NewServeMux(), page: page, wake: make(chan struct{}, 1), slots: make(chan struct{}, 64),
		charges: charges, owed: map[string]bool{}, failed: map[string]int{},
	}
	for tradeNo, c := range charges {
		if !c.Due.IsZero() {
			s.owed[tradeNo] = false
		}
	}
	s.mux.HandleFunc("POST "+apiPath, s.serveAPI)
	s.mux.HandleFunc("GET /pay/{trade_no}", s.showPage)
	s.mux.HandleFunc("POST /pay/{trade_no}", s.pressButton)
	return s, nil
}

func (opt *Options) fill() {
	if opt.HTTP == nil {
		opt.HTTP = &http.Client{Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.After == nil {
		opt.After = time.After
	}
	if opt.Nonce == nil {
		opt.Nonce = rand.Text
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
}

// ServeHTTP answers the API at /api and shoppers at /pay/{trade_no}.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close closes the file. What is still owed is sent by the next server on it.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shelf.close()
}

// Pay is the shopper pressing the button: nil when it is paid, now or before.
// ErrRefused says that it is closed, expired, or nobody's.
func (s *Server) Pay(tradeNo string) error {
	return s.change(tradeNo, func(c *charge) error { return c.pay("SB"+s.opt.Nonce(), s.opt.Clock()) })
}

// Cancel is the shopper pressing the other one, which closes the charge.
func (s *Server) Cancel(tradeNo string) error {
	return s.change(tradeNo, (*charge).close)
}

// Charged is how many charges there are.
func (s *Server) Charged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.charges)
}

// Refunded is how much of a charge has been given back, in minor units.
func (s *Server) Refunded(tradeNo string) int64 {
	c, _ := s.find(tradeNo)
	return c.refunded()
}

// find returns a copy of the charge; ok is false for one nobody created.
func (s *Server) find(tradeNo string) (c *charge, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok = s.charges[tradeNo]; !ok {
		return new(charge), false
	}
	return c.clone(), true
}

// change changes a charge, in the file first.
func (s *Server) change(tradeNo string, how func(*charge) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.charges[tradeNo]
	if !ok {
		return fmt.Errorf("%w: sandbox: nobody created this charge", payment.ErrRefused)
	}
	c = c.clone()
	if err := how(c); err != nil {
		return err
	}
	return s.keep(c)
}

// keep needs s.mu.
func (s *Server) keep(c *charge) error {
	if err := s.shelf.put(c); err != nil {
		return err
	}
	s.charges[c.TradeNo] = c
	switch {
	case c.Due.IsZero():
		delete(s.owed, c.TradeNo)
	case !s.owed[c.TradeNo]:
		s.owed[c.TradeNo] = false
		s.nudge()
	}
	return nil
}

func (s *Server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
