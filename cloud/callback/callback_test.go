package callback_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/callback"
	"vendline/cloud/outbox"
)

// books remember what became of rows.
type books struct {
	mu            sync.Mutex
	deleted, dead []string
}

func (b *books) Delete(_ context.Context, ids ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deleted = append(b.deleted, ids...)
	return nil
}

func (b *books) Bury(_ context.Context, _, reason string, _ []byte, meta map[string]string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = append(b.dead, meta["row"]+": "+reason)
	b.deleted = append(b.deleted, meta["row"])
	return nil
}

var secret = []byte("a secret of sixteen bytes or more")

func runner(b *books, p callback.Policy) *callback.Runner {
	return &callback.Runner{Ledger: b, Secret: secret, Policy: p, Clock: func() time.Time { return time.Unix(1_800_000_000, 0) }, Log: slog.New(slog.DiscardHandler)}
}

func row(url string, attempts int) outbox.Row {
	return outbox.Row{ID: "row-1", Attempts: attempts, Payload: fmt.Appendf(nil, `{"url":%q,"body":"eyJhIjoxfQ=="}`, url)}
}

func TestACallbackIsSignedAndGoesWhenItIsTaken(t *testing.T) {
	var got *http.Request
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	b := &books{}
	r := runner(b, callback.Policy{Loopback: true})
	if err := r.Carry(t.Context(), []outbox.Row{row(s.URL+"/hook", 0)}); err != nil {
		t.Fatal(err)
	}
	at := got.Header.Get("Vendline-Timestamp")
	if at != "1800000000" || got.Header.Get("Vendline-Id") != "row-1" || string(body) != `{"a":1}` || got.Method != http.MethodPost ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent %s %v %s", got.Method, got.Header, body)
	}
	if sig := got.Header.Get("Vendline-Signature"); sig != callback.Sign(secret, at, "row-1", body) || len(sig) != 64 {
		t.Errorf("signature %q", sig)
	}
	if len(b.deleted) != 1 || r.Delivered.Load() != 1 {
		t.Errorf("deleted %v", b.deleted)
	}
}

func TestTheSignatureIsOfWhatIsWrittenDown(t *testing.T) {
	// printf '1\na\n{}\n' | openssl dgst -sha256 -hmac key
	const want = "b78b374e946050b014a7b5e310ecb8e005e0bf1d9b39895202a59dda3bbae52c"
	if got := callback.Sign([]byte("key"), "1", "a", []byte("{}")); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAFailedCallbackStaysUntilItsLastAttempt(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				answer(w, r)
			}))
			defer s.Close()
			b := &books{}
			r := runner(b, callback.Policy{Loopback: true})
			for n := range callback.Attempts + 1 { // the first from memory
				if len(b.deleted) > 0 {
					t.Fatalf("given up after %d attempts", n)
				}
				if err := r.Carry(t.Context(), []outbox.Row{row(s.URL, n)}); err != nil {
					t.Fatal(err)
				}
			}
			if asked != callback.Attempts+1 {
				t.Errorf("asked %d times: a redirect was followed?", asked)
			}
			if len(b.dead) != 1 || len(b.deleted) != 1 || r.Dead.Load() != 1 {
				t.Errorf("dead %v, deleted %v", b.dead, b.deleted)
			}
		})
	}
}

// A name may resolve to something public when it is checked, and to loopback
// when it is dialled; what counts is the address that is dialled.
func TestTheDialledAddressIsWhatIsChecked(t *testing.T) {
	asked := false
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, dial := range callback.Dials() {
		if err := dial(t.Context(), "127.0.0.1"+port); err == nil || !strings.Contains(err.Error(), "public") {
			t.Errorf("dialled: %v", err)
		}
		if err := dial(t.Context(), "localhost"+port); err == nil || !strings.Contains(err.Error(), "public") {
			t.Errorf("dialled by name: %v", err)
		}
	}
	if asked {
		t.Error("a private server was reached")
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied = true }))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("HTTP_PROXY", proxy.URL)
	b := &books{}
	r := runner(b, callback.Policy{Loopback: true})
	_ = r.Carry(t.Context(), []outbox.Row{row("https://no-such-name.invalid/", 0)})
	if proxied || r.Failed.Load() != 1 {
		t.Errorf("proxied %v, failed %d", proxied, r.Failed.Load())
	}
}

func TestAnEndlessAnswerIsNotRead(t *testing.T) {
	written := make(chan int, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := 0
		chunk := []byte(strings.Repeat("x", 1<<16))
		for n < 64<<20 {
			k, err := w.Write(chunk)
			n += k
			if err != nil {
				break
			}
		}
		written <- n
	}))
	defer s.Close()
	b := &books{}
	if err := runner(b, callback.Policy{Loopback: true}).Carry(t.Context(), []outbox.Row{row(s.URL, 0)}); err != nil {
		t.Fatal(err)
	}
	if n := <-written; n >= 64<<20 {
		t.Error("all " + strconv.Itoa(n) + " bytes were read")
	}
}

func TestWhatCannotBeReadIsBuried(t *testing.T) {
	b := &books{}
	if err := runner(b, callback.Policy{}).Carry(t.Context(), []outbox.Row{{ID: "bad", Payload: []byte("{")}}); err != nil {
		t.Fatal(err)
	}
	if len(b.dead) != 1 || len(b.deleted) != 1 {
		t.Errorf("dead %v, deleted %v", b.dead, b.deleted)
	}
}
