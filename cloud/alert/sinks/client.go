// Package sinks are the places where alerts are told: the log, a signed webhook,
// a DingTalk robot, and an Alertmanager.
//
// A sink's URL is the operator's own, and still it is kept on the public
// internet unless he says that it is private: a file that somebody else has
// written must not reach the cloud's servers or its provider's metadata by
// itself. No redirect is followed and no proxy asked, since both would send
// somewhere that nobody has named.
package sinks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	timeout   = 5 * time.Second // of one request
	maxAnswer = 16 << 10        // bytes that are read of an answer
)

// Guard says whom a sink may reach.
type Guard interface {
	// Check says what is wrong with a URL, Allows whether an address that a name
	// resolved to may be dialled.
	Check(url string) error
	Allows(a netip.Addr) bool
}

// Private lets a sink be anywhere, over http too.
type Private struct{}

// Check implements Guard.
func (Private) Check(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be an absolute http or https URL")
	case u.User != nil, u.Fragment != "":
		return errors.New("must not carry a user, a password or a fragment")
	}
	return nil
}

// Allows implements Guard.
func (Private) Allows(a netip.Addr) bool { return a.IsValid() }

// client dials what the guard allows, and nothing else.
func client(g Guard) *http.Client {
	control := func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !g.Allows(at.Addr()) {
			return fmt.Errorf("%s is not on the public internet; say \"private\": true if it is meant", address)
		}
		return nil
	}
	dialer := &net.Dialer{Timeout: timeout, Control: control}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: maxAnswer, MaxConnsPerHost: 2, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refusedError is an answer that says that the message itself is bad: what comes
// after it may still be told.
type refusedError struct{ status string }

func (e refusedError) Error() string { return "answered " + e.status }

// post sends a body and returns the beginning of a 2xx answer. Errors do not
// name the URL: it may hold a token.
func post(ctx context.Context, c *http.Client, g Guard, to string, body []byte, header map[string]string) ([]byte, error) {
	if err := g.Check(to); err != nil {
		return nil, fmt.Errorf("the URL %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Vendline")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := c.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch s := res.StatusCode; {
	case s >= 200 && s <= 299:
		return answer, err
	case s >= 400 && s <= 499 && s != http.StatusRequestTimeout && s != http.StatusTooManyRequests && s != http.StatusUnauthorized && s != http.StatusForbidden && s != http.StatusNotFound:
		return nil, refusedError{res.Status}
	}
	return nil, errors.New("answered " + strings.TrimSpace(res.Status))
}
