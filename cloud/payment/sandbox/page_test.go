package sandbox_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"vendline/cloud/payment"
)

const pageURL = "http://in.process/pay/" + tradeNo

func (r *rig) browse(t *testing.T, method, button string) (int, string) {
	t.Helper()
	var body io.Reader
	if button != "" {
		body = strings.NewReader(url.Values{"button": {button}}.Encode())
	}
	req, err := http.NewRequestWithContext(t.Context(), method, pageURL, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := r.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestAShopperPaysOnThePage(t *testing.T) {
	r := open(t)
	c := r.charge(350)
	c.Description = `Vendline <script>alert("C001")</script>`
	p, err := r.Create(t.Context(), c)
	if err != nil || p.URL != "http://sandbox.example/pay/"+tradeNo {
		t.Fatalf("create: %+v, %v", p, err)
	}
	status, html := r.browse(t, http.MethodGet, "")
	for _, want := range []string{"3.50 CNY", "Vendline &lt;script&gt;", `value="pay"`, `value="cancel"`, `name="viewport"`} {
		if status != http.StatusOK || !strings.Contains(html, want) {
			t.Errorf("the page (%d) lacks %s", status, want)
		}
	}
	for _, foreign := range []string{"<script", "src=", "href=", "@import", "http://", "https://"} {
		if strings.Contains(html, foreign) {
			t.Errorf("the page loads something: %s", foreign)
		}
	}
	if status, html = r.browse(t, http.MethodPost, "pay"); status != http.StatusOK || !strings.Contains(html, ">Paid<") || strings.Contains(html, "<form") {
		t.Errorf("after Pay: %d %s", status, html)
	}
	ref := func() string {
		got, err := r.Query(t.Context(), tradeNo)
		if err != nil || got.State != payment.Paid {
			t.Fatalf("the query says %+v, %v", got, err)
		}
		return got.Ref
	}
	first := ref()
	if r.browse(t, http.MethodPost, "pay"); ref() != first {
		t.Error("a second tap paid again")
	}
	if _, html = r.browse(t, http.MethodPost, "cancel"); !strings.Contains(html, "paid already") {
		t.Errorf("Cancel after Pay: %s", html)
	}
}

func TestAShopperCancelsOnThePage(t *testing.T) {
	r := open(t)
	if _, err := r.Create(t.Context(), r.charge(350)); err != nil {
		t.Fatal(err)
	}
	if _, html := r.browse(t, http.MethodPost, "cancel"); !strings.Contains(html, ">Closed<") {
		t.Errorf("after Cancel: %s", html)
	}
	if _, html := r.browse(t, http.MethodPost, "pay"); !strings.Contains(html, "can not be paid") {
		t.Errorf("Pay after Cancel: %s", html)
	}
	if got, err := r.Query(t.Context(), tradeNo); err != nil || got.State != payment.Closed {
		t.Errorf("the query says %+v, %v", got, err)
	}
}

func TestAnExpiredChargeIsClosed(t *testing.T) {
	r := open(t)
	c := r.charge(350)
	if _, err := r.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r.clock.Pass(15 * time.Minute)
	if _, html := r.browse(t, http.MethodGet, ""); !strings.Contains(html, ">Closed<") {
		t.Errorf("the page: %s", html)
	}
	if err := r.server.Pay(tradeNo); err == nil {
		t.Error("it could be paid")
	}
	if got, err := r.Query(t.Context(), tradeNo); err != nil || got.State != payment.Closed {
		t.Errorf("the query says %+v, %v", got, err)
	}
}

func TestAPageNobodyMadeAndAButtonNobodyKnows(t *testing.T) {
	r := open(t)
	if status, html := r.browse(t, http.MethodGet, ""); status != http.StatusNotFound || !strings.Contains(html, "Nothing to pay") {
		t.Errorf("an unknown charge: %d %s", status, html)
	}
	if _, err := r.Create(t.Context(), r.charge(350)); err != nil {
		t.Fatal(err)
	}
	if status, _ := r.browse(t, http.MethodPost, "steal"); status != http.StatusBadRequest {
		t.Errorf("an unknown button: %d", status)
	}
}

// The service shows the page below a path of its own, and strips that path
// before the server sees it.
func TestAPressedButtonLeadsBackToThePageAsShoppersReachIt(t *testing.T) {
	r := open(t)
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/sandbox/pay/"+tradeNo, strings.NewReader("button=pay"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if _, err := r.Create(t.Context(), r.charge(350)); err != nil {
		t.Fatal(err)
	}
	http.StripPrefix("/sandbox", r.server).ServeHTTP(w, req)
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "http://sandbox.example/pay/"+tradeNo {
		t.Errorf("%d, Location %q", w.Code, got)
	}
}
