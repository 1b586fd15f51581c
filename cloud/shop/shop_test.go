package shop_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"vendline/cloud/shop"
)

// mux is a host: gin writes parameters ":name", the standard library "{name}".
type mux struct{ *http.ServeMux }

func (m mux) Handle(method, path string, h http.Handler) {
	m.ServeMux.Handle(method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(path, "{$1}"), h)
}

func open(t *testing.T, ways ...string) http.Handler {
	t.Helper()
	s, err := shop.New(ways)
	if err != nil {
		t.Fatal(err)
	}
	m := mux{http.NewServeMux()}
	s.Mount(m)
	return m
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestThePageNamesItsCabinetAndTheWaysToPay(t *testing.T) {
	w := get(t, open(t, "sandbox", "wechat"), "/c/C_01-x")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("HTTP %d %s", w.Code, w.Header().Get("Content-Type"))
	}
	if body := w.Body.String(); !strings.Contains(body, `<body data-cabinet="C_01-x" data-ways="sandbox wechat">`) {
		t.Errorf("%.900s", body)
	}
	if body := get(t, open(t), "/c/C001").Body.String(); !strings.Contains(body, `data-ways=""`) {
		t.Error("a shop without ways to pay names some")
	}
}

func between(t *testing.T, s, from, to string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, from)
	inside, _, closed := strings.Cut(s, to)
	if !ok || !closed {
		t.Fatalf("no %s … %s", from, to)
	}
	return inside
}

func TestThePolicyLetsItsOwnScriptAndStylePassAndNothingElse(t *testing.T) {
	w := get(t, open(t, "sandbox"), "/c/C001")
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{between(t, w.Body.String(), "<script>", "</script>"), between(t, w.Body.String(), "<style>", "</style>")} {
		sum := sha256.Sum256([]byte(part))
		if !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
			t.Errorf("the policy does not know\n%.120s", part)
		}
	}
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%s is missing in %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
		t.Errorf("too much is allowed: %s", policy)
	}
	if body := w.Body.String(); regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(body) || strings.Contains(body, "innerHTML") {
		t.Error("the page fetches from elsewhere, or writes markup")
	}
}

func TestANameThatNoCabinetHasIsNotFoundAndHarmless(t *testing.T) {
	for _, path := range []string{"/c/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/c/+", "/c/%23", "/c/" + strings.Repeat("a", 33), "/c/%22%20onload=x"} {
		w := get(t, open(t, "sandbox"), path)
		if body := w.Body.String(); w.Code != 404 || strings.Contains(body, "<script") || strings.Contains(body, "onload=x\"") || strings.Contains(body, "\" onload") {
			t.Errorf("%s: HTTP %d\n%.400s", path, w.Code, body)
		}
	}
}
