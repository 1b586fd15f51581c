package sinks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/alert"
	"vendline/cloud/alert/sinks"
	"vendline/cloud/callback"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	at     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret = []byte("a secret of sixteen bytes")
	signed = sinks.Signature{Timestamp: callback.HeaderTimestamp, ID: callback.HeaderID, Signature: callback.HeaderSignature, Sign: callback.Sign}
)

func clock() time.Time { return at }

func two() []alert.Notification {
	return []alert.Notification{
		{ID: "n1", Sink: "s", Key: "cabinet_offline", Seq: 3, Rule: "cabinet_offline", Severity: alert.Warning, State: alert.Firing,
			Summary: "23 of 90 cabinets were not heard of for more than 10m: C001, C002, …", Count: 23, Examples: []string{"C001", "C002"},
			Runbook: "Look at the broker *first*.", Since: at.Add(-time.Minute), At: at, URL: "https://vend.example/alerts"},
		{ID: "n2", Sink: "s", Key: "outbox_lag:stock", Seq: 9, Rule: "outbox_lag", Labels: map[string]string{"kind": "stock"}, Severity: alert.Critical, State: alert.Resolved,
			Summary: "12 outbox rows of kind stock wait.", Count: 12, Runbook: "See the queue.", Since: at.Add(-time.Hour), At: at},
	}
}

// receiver is a real HTTP server that keeps what came, and answers as told.
type receiver struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	answer   func(w http.ResponseWriter, n int)
	*httptest.Server
}

func receive(t *testing.T, answer func(w http.ResponseWriter, n int)) *receiver {
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	r.requests, r.bodies = append(r.requests, q), append(r.bodies, body)
	n := len(r.bodies)
	r.mu.Unlock()
	r.answer(w, n)
}

func ok(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok"}`) }

func status(code int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) { w.WriteHeader(code) }
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(want), got) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func open(t *testing.T, kind, to string) alert.Sink {
	t.Helper()
	var s alert.Sink
	var err error
	switch kind {
	case "webhook":
		s, err = sinks.NewWebhook("s", to, secret, signed, sinks.Private{}, clock)
	case "dingtalk":
		s, err = sinks.NewDingTalk("s", to+"/robot/send?access_token=t0k", secret, sinks.Private{}, clock)
	case "alertmanager":
		s, err = sinks.NewAlertmanager("s", to+"/", sinks.Private{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func told(outcomes []error) (n int) {
	for _, err := range outcomes {
		if err == nil {
			n++
		}
	}
	return n
}

func TestAWebhookIsSignedAsCallbacksAre(t *testing.T) {
	r := receive(t, ok)
	if n := told(open(t, "webhook", r.URL).Send(t.Context(), two())); n != 2 || len(r.bodies) != 2 {
		t.Fatalf("%d told in %d requests", n, len(r.bodies))
	}
	golden(t, "webhook.json", r.bodies[0])
	for i, q := range r.requests {
		stamp, id := q.Header.Get(callback.HeaderTimestamp), q.Header.Get(callback.HeaderID)
		m := hmac.New(sha256.New, secret)
		_, _ = io.WriteString(m, stamp+"\n"+id+"\n"+string(r.bodies[i])+"\n")
		if got := q.Header.Get(callback.HeaderSignature); got != hex(m.Sum(nil)) || stamp != strconv.FormatInt(at.Unix(), 10) || id != two()[i].ID {
			t.Errorf("request %d: id %q at %q signed %q", i, id, stamp, got)
		}
	}
}

func hex(b []byte) (s string) {
	for _, c := range b {
		s += string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
	}
	return s
}

func TestARobotIsToldInOneSignedMessage(t *testing.T) {
	r := receive(t, ok)
	if n := told(open(t, "dingtalk", r.URL).Send(t.Context(), two())); n != 2 || len(r.bodies) != 1 {
		t.Fatalf("%d told in %d requests", n, len(r.bodies))
	}
	golden(t, "dingtalk.json", r.bodies[0])
	q := r.requests[0].URL.Query()
	m := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(m, q.Get("timestamp")+"\n"+string(secret))
	if q.Get("access_token") != "t0k" || q.Get("timestamp") != strconv.FormatInt(at.UnixMilli(), 10) || q.Get("sign") != base64.StdEncoding.EncodeToString(m.Sum(nil)) {
		t.Errorf("asked with %v", r.requests[0].URL)
	}
	if raw := r.requests[0].URL.RawQuery; strings.ContainsAny(raw[strings.Index(raw, "&sign=")+6:], "+/=") {
		t.Errorf("the signature is not escaped: %s", raw)
	}
	if p, is := open(t, "dingtalk", r.URL).(alert.Paced); !is || time.Minute/p.Pace() > 20 {
		t.Error("a robot may say 20 messages a minute")
	}
}

func TestARobotThatSaysNoIsNotTold(t *testing.T) {
	for _, answer := range []string{`{"errcode":130101,"errmsg":"send too fast"}`, `{"errmsg":"ok"}`, `<html>`, ``} {
		r := receive(t, func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, answer) })
		if n := told(open(t, "dingtalk", r.URL).Send(t.Context(), two())); n != 0 {
			t.Errorf("%q counts as told", answer)
		}
	}
}

func TestAlertmanagerHearsBeginningAndEnd(t *testing.T) {
	r := receive(t, status(200))
	batch := append(two(), two()[0])
	batch[2].State, batch[2].Seq = alert.Resolved, 4
	s := open(t, "alertmanager", r.URL)
	if n := told(s.Send(t.Context(), two())); n != 2 || r.requests[0].URL.Path != "/api/v2/alerts" {
		t.Fatalf("%d told", n)
	}
	golden(t, "alertmanager.json", r.bodies[0])
	if n := told(s.Send(t.Context(), batch)); n != 3 {
		t.Fatalf("%d told", n)
	}
	if got := string(r.bodies[1]); strings.Count(got, `"alertname":"cabinet_offline"`) != 1 || !strings.Contains(got, `"endsAt":"2026-03-01T12:00:00.000Z"`) {
		t.Errorf("of one alert it hears %s: the newest state must win", got)
	}
}

func TestASinkThatFailsIsNotTold(t *testing.T) {
	for _, kind := range []string{"webhook", "dingtalk", "alertmanager"} {
		t.Run(kind, func(t *testing.T) {
			for _, code := range []int{302, 400, 401, 404, 429, 500, 503} {
				r := receive(t, func(w http.ResponseWriter, _ int) {
					w.Header().Set("Location", "http://127.0.0.1:1/")
					w.WriteHeader(code)
				})
				if n := told(open(t, kind, r.URL).Send(t.Context(), two())); n != 0 {
					t.Errorf("%d counts as told", code)
				}
			}
			hangs := make(chan struct{})
			r := receive(t, func(http.ResponseWriter, int) { <-hangs })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan []error)
			go func() { done <- open(t, kind, r.URL).Send(ctx, two()) }()
			for range 1000 {
				r.mu.Lock()
				n := len(r.bodies)
				r.mu.Unlock()
				if n > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			cancel()
			if n := told(<-done); n != 0 {
				t.Errorf("one that hangs counts as told")
			}
			close(hangs)
		})
	}
}

func TestASinkThatRestartsIsToldAgain(t *testing.T) {
	for _, kind := range []string{"webhook", "dingtalk", "alertmanager"} {
		t.Run(kind, func(t *testing.T) {
			r := receive(t, ok)
			s := open(t, kind, r.URL)
			if n := told(s.Send(t.Context(), two())); n != 2 {
				t.Fatalf("%d told", n)
			}
			where := r.Listener.Addr().String()
			r.Close()
			outcomes := s.Send(t.Context(), two())
			if told(outcomes) != 0 {
				t.Fatal("nobody was there, and it counts as told")
			}
			if strings.Contains(outcomes[0].Error(), "t0k") {
				t.Errorf("the error shows the robot's token: %v", outcomes[0])
			}
			l, err := net.Listen("tcp", where)
			if err != nil {
				t.Fatal(err)
			}
			again := &receiver{answer: ok, Server: &httptest.Server{Listener: l}}
			again.Config = &http.Server{Handler: again}
			again.Start()
			defer again.Close()
			if n := told(s.Send(t.Context(), two())); n != 2 {
				t.Errorf("%d told after the restart", n)
			}
		})
	}
}

func TestARefusedNotificationHoldsUpItsOwnAlertOnly(t *testing.T) {
	r := receive(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	batch := append(two()[:1], two()...)
	got := open(t, "webhook", r.URL).Send(t.Context(), batch)
	if got[0] == nil || !errors.Is(got[1], alert.ErrBehind) || got[2] != nil {
		t.Errorf("outcomes %v", got)
	}
}

func TestASinkIsOnThePublicInternetUnlessItIsSaidToBePrivate(t *testing.T) {
	for _, to := range []string{"http://10.0.0.1/", "https://127.0.0.1/", "https://169.254.169.254/", "http://hooks.example/", "https://u:p@hooks.example/", "ftp://x/", ""} {
		if _, err := sinks.NewWebhook("s", to, secret, signed, callback.Policy{}, clock); err == nil {
			t.Errorf("%s is taken", to)
		}
	}
	r := receive(t, ok)
	u, _ := url.Parse(r.URL)
	s, err := sinks.NewWebhook("s", "https://"+"localhost.invalid:"+u.Port()+"/", secret, signed, callback.Policy{}, clock)
	if err != nil {
		t.Fatal(err)
	}
	if told(s.Send(t.Context(), two())) != 0 {
		t.Error("told somebody who is not there")
	}
}

func TestTheLogTellsAll(t *testing.T) {
	var b bytes.Buffer
	s := sinks.Log{Called: "log", Log: slog.New(slog.NewJSONHandler(&b, nil))}
	if told(s.Send(t.Context(), two())) != 2 || strings.Count(b.String(), "\n") != 2 || !strings.Contains(b.String(), "broker *first*") {
		t.Errorf("the log has %s", b.String())
	}
}
