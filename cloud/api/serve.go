package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// DefaultAddr is where HTTP listens unless told otherwise: there is no access
// control yet, so nobody from outside may knock.
const DefaultAddr = "127.0.0.1:8080"

// Timeouts of a connection. Answers that take longer stretch their own.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// Listen opens addr (empty means DefaultAddr) and tells the log who can reach it.
func Listen(ctx context.Context, addr string, log *slog.Logger) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("api: listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		log.Info("no access control yet: HTTP is on loopback only; use --http 0.0.0.0:8080 to change", "addr", l.Addr().String())
	} else {
		log.Warn("no access control yet: everybody who can reach this address can order and command", "addr", l.Addr().String())
	}
	return l, nil
}

// Serve answers on l until ctx ends. Then it takes no new connections, ends
// waits and streams, and lets the rest finish for Options.Drain. It returns nil
// when all of them did. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		s.drain()
		return fmt.Errorf("api: serve: %w", err)
	case <-ctx.Done():
	}
	s.drain()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opt.Drain)
	defer cancel()
	err := hs.Shutdown(late)
	if err != nil {
		_ = hs.Close() // what is cut now was told about by Shutdown's error
		err = fmt.Errorf("api: drain: %w", err)
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
