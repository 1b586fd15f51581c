package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"vendline/shared/wire"
)

// caller asks over HTTP and insists, as an app or a firmware would.
type caller struct{ client *http.Client }

// patience is how long one attempt may take; then the same is sent again.
const patience = 5 * time.Second

func newCaller() *caller {
	return &caller{client: &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256, IdleConnTimeout: time.Minute},
	}}
}

func (c *caller) close() { c.client.CloseIdleConnections() }

// answer is what one attempt heard. Outcome is Unanswered when the outcome is
// unknown or the answer asks to come again.
type answer struct {
	outcome Outcome
	status  int // 0 when there was no answer
	code    wire.Code
	body    []byte
	sent    time.Time
}

// post sends one request. Only a 201, a 202 or a 200 is a yes; only a problem
// that says retryable false is a no.
func (c *caller) post(ctx context.Context, url, key string, body []byte) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	sent := time.Now()
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return answer{}
	}
	a := judge(resp.StatusCode, text)
	a.status = resp.StatusCode
	a.sent = sent
	return a
}

func judge(status int, body []byte) answer {
	switch {
	case status >= 200 && status < 300:
		return answer{outcome: Yes, body: body}
	case status >= 500:
		return answer{body: body}
	}
	var p struct {
		Code      wire.Code `json:"code"`
		Retryable bool      `json:"retryable"`
	}
	if json.Unmarshal(body, &p) != nil || p.Code == "" || p.Retryable {
		return answer{body: body}
	}
	return answer{outcome: No, code: p.Code, body: body}
}

// insist repeats the very same request until a definite answer, or ctx ends;
// then it tells what it was told last.
func (c *caller) insist(ctx context.Context, r *rand.Rand, url, key string, body []byte) answer {
	pause, last := 50*time.Millisecond, answer{}
	for {
		a := c.post(ctx, url, key, body)
		if a.outcome != Unanswered {
			return a
		}
		if a.status != 0 {
			last = a
		}
		select {
		case <-ctx.Done():
			return answer{status: last.status, body: last.body}
		case <-time.After(pause/2 + time.Duration(r.Int64N(int64(pause)))):
		}
		pause = min(2*pause, 800*time.Millisecond)
	}
}

// get reads a JSON answer.
func (c *caller) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &statusError{url, resp.StatusCode}
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}

type statusError struct {
	url    string
	status int
}

func (e *statusError) Error() string { return http.StatusText(e.status) + " from " + e.url }
