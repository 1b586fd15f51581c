// Package callback tells whoever asked for it of an intent's outcome, by a
// signed POST. The URL is a stranger's: the guard keeps it on the public
// internet, and nothing of the answer but its status is used.
package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/outbox"
)

// Attempts with one callback before it is a dead letter, at Lease and then twice
// as long each time, up to Longest.
const (
	Attempts = 16
	Lease    = 5 * time.Second
	Longest  = time.Hour

	timeout   = 5 * time.Second // of one attempt
	maxAnswer = 4 << 10         // bytes that are read of an answer
)

// Ledger removes rows that are carried out, and keeps what nobody takes: Bury
// removes the row that meta names in the same transaction.
type Ledger interface {
	Delete(ctx context.Context, ids ...string) error
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Runner is the carrier of callback rows.
type Runner struct {
	Ledger Ledger
	Secret []byte
	Policy Policy
	Clock  func() time.Time
	Log    *slog.Logger

	Delivered, Failed, Dead atomic.Int64 // attempts that succeeded, failed; callbacks given up

	once   sync.Once
	client *http.Client
}

// Carry sends what each row says, all at once. A row goes when its receiver has
// answered 2xx; one that failed is left to its lease, which grows.
//
// Dies after the receiver said yes and before the row is removed: it is sent
// again, under the same id and with the same body.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	r.once.Do(func() { r.client = client(r.Policy) })
	done := make(chan error, len(rows))
	for _, row := range rows {
		go func() { done <- r.carry(ctx, row) }()
	}
	var failed error
	for range rows {
		if err := <-done; err != nil {
			failed = fmt.Errorf("callback: %w", err)
		}
	}
	return failed
}

func (r *Runner) carry(ctx context.Context, row outbox.Row) error {
	var what outbox.Callback
	if err := json.Unmarshal(row.Payload, &what); err != nil {
		return r.bury(ctx, row, what, err)
	}
	err := r.send(ctx, row.ID, what)
	switch {
	case err == nil:
		r.Delivered.Add(1)
		return r.Ledger.Delete(ctx, row.ID)
	case ctx.Err() != nil:
		return ctx.Err() // we are stopping: not the receiver's fault
	}
	r.Failed.Add(1)
	r.Log.Debug("a callback failed", "id", row.ID, "attempt", row.Attempts+1, "error", err)
	if row.Attempts >= Attempts { // one more from memory, if its process lived, is not counted in the row
		return r.bury(ctx, row, what, err)
	}
	return nil
}

func (r *Runner) bury(ctx context.Context, row outbox.Row, what outbox.Callback, cause error) error {
	r.Dead.Add(1)
	r.Log.Warn("a callback is given up", "id", row.ID, "url", what.URL, "error", cause)
	meta := map[string]string{"row": row.ID, "url": what.URL, "attempts": strconv.Itoa(row.Attempts + 1)}
	return r.Ledger.Bury(ctx, "callback", cause.Error(), row.Payload, meta) // the row goes with it
}

// send makes one attempt. The URL is checked again: the policy may have become
// stricter since it was taken in.
func (r *Runner) send(ctx context.Context, id string, what outbox.Callback) error {
	if err := r.Policy.Check(what.URL); err != nil {
		return fmt.Errorf("the URL %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, what.URL, bytes.NewReader(what.Body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(r.Clock().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Vendline")
	req.Header.Set(HeaderTimestamp, at)
	req.Header.Set(HeaderID, id)
	req.Header.Set(HeaderSignature, Sign(r.Secret, at, id, what.Body))
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // so that the connection can be used again
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return errors.New("answered " + res.Status)
	}
	return nil
}

// client follows no redirect, asks no proxy, and dials no address that the
// policy forbids.
func client(p Policy) *http.Client {
	dialer := &net.Dialer{Timeout: timeout, Control: p.control}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: maxAnswer, MaxConnsPerHost: 8, MaxIdleConnsPerHost: 2, MaxIdleConns: 64, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
