package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"vendline/cloud/alert"
)

// Signature is how a webhook is signed: the headers of callbacks, and their
// function.
type Signature struct {
	Timestamp, ID, Signature string // names of headers
	Sign                     func(secret []byte, timestamp, id string, body []byte) string
}

// Webhook posts one notification a request, signed as callbacks are.
type Webhook struct {
	called string
	url    string
	secret []byte
	how    Signature
	guard  Guard
	client *http.Client
	clock  func() time.Time
}

// NewWebhook returns a webhook; its URL is checked.
func NewWebhook(called, url string, secret []byte, how Signature, g Guard, clock func() time.Time) (*Webhook, error) {
	if err := g.Check(url); err != nil {
		return nil, err
	}
	return &Webhook{called, url, secret, how, g, client(g), clock}, nil
}

// Name implements alert.Sink.
func (s *Webhook) Name() string { return s.called }

// Send implements alert.Sink. A receiver that does not answer is not asked for
// the rest; one that refuses a notification (4xx) is still told the others.
func (s *Webhook) Send(ctx context.Context, batch []alert.Notification) []error {
	out := make([]error, len(batch))
	stuck := map[string]bool{} // alerts of which something was refused
	for i, n := range batch {
		if stuck[n.Key] {
			out[i] = alert.ErrBehind
			continue
		}
		err := s.send(ctx, n)
		if err == nil {
			continue
		}
		out[i] = err
		var refused refusedError
		if !errors.As(err, &refused) {
			for j := i + 1; j < len(batch); j++ {
				out[j] = err
			}
			return out
		}
		stuck[n.Key] = true
	}
	return out
}

func (s *Webhook) send(ctx context.Context, n alert.Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	at := strconv.FormatInt(s.clock().Unix(), 10)
	_, err = post(ctx, s.client, s.guard, s.url, body, map[string]string{
		s.how.Timestamp: at, s.how.ID: n.ID, s.how.Signature: s.how.Sign(s.secret, at, n.ID, body),
	})
	return err
}
