package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
)

// documented is a fenced block of docs/payments.md, found by what is in it.
func documented(t *testing.T, kind, holds string) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/payments.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		if m[1] == kind && strings.Contains(m[2], holds) {
			return m[2]
		}
	}
	t.Fatalf("docs/payments.md has no %s block with %q", kind, holds)
	return ""
}

func ofTheDocs(t *testing.T) (p *sandbox.Provider, secret, body string) {
	t.Helper()
	script := documented(t, "sh", "Vendline-Signature")
	secret = regexp.MustCompile(`secret:-(.*)}`).FindStringSubmatch(script)[1]
	body = regexp.MustCompile(`body='(.*)'`).FindStringSubmatch(script)[1]
	p, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Secret: secret, Merchant: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return p, secret, body
}

func TestTheDocumentedSignatureVerifies(t *testing.T) {
	p, secret, body := ofTheDocs(t)
	signature := sandbox.Sign(secret, "1700000000", "docs-1", []byte(body))
	documented(t, "text", signature)
	got, err := p.Verify(payment.Notification{At: unix(1_700_000_000), Body: []byte(body), Header: http.Header{
		sandbox.HeaderTimestamp: {"1700000000"}, sandbox.HeaderNonce: {"docs-1"}, sandbox.HeaderSignature: {signature},
	}})
	if err != nil || got.State != payment.Paid || got.Amount.String() != "3.50 CNY" {
		t.Errorf("it reads %+v, %v", got, err)
	}
	if _, ok := payment.OrderOf(got.TradeNo); !ok {
		t.Errorf("%s is not a trade number", got.TradeNo)
	}
}

func TestTheDocumentedCommandsVerify(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "openssl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("no %s here: only the signature is checked", tool)
			return
		}
	}
	p, _, _ := ofTheDocs(t)
	var heard payment.Notice
	var problem error
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := read(r, unix(1_700_000_000).Add(time.Minute))
		if err == nil {
			heard, err = p.Verify(n)
		}
		problem = err
		w.WriteHeader(p.Answer(err == nil).Status)
	}))
	defer cloud.Close()
	sh := exec.CommandContext(t.Context(), "sh", "-c", documented(t, "sh", "Vendline-Signature"))
	sh.Env = append(os.Environ(), "url="+cloud.URL, "timestamp=1700000000", "nonce=docs-1", "no_proxy=127.0.0.1")
	out, err := sh.CombinedOutput()
	if err != nil || problem != nil || heard.ID != "docs-1" || !strings.Contains(string(out), "200 OK") {
		t.Errorf("it reads %+v, %v: %v\n%s", heard, problem, err, out)
	}
}

// The table of amounts is the code's.
func TestEveryMagicAmountIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/payments.md")
	if err != nil {
		t.Fatal(err)
	}
	for digits := 91; digits <= 99; digits++ {
		if !strings.Contains(string(doc), fmt.Sprintf("| %d | 3.%d |", digits, digits)) {
			t.Errorf("amounts that end in %d are not documented", digits)
		}
	}
}
