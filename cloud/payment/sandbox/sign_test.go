package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
)

func TestThereIsNoUnsignedMode(t *testing.T) {
	for _, secret := range []string{"", "short", "fifteen letters"} {
		if _, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Merchant: merchant, Secret: secret}); err == nil {
			t.Errorf("a provider takes the secret %q", secret)
		}
		if _, err := sandbox.NewServer(sandbox.Options{PublicURL: "http://sandbox.example", Merchant: merchant, Secret: secret}); err == nil {
			t.Errorf("a server takes the secret %q", secret)
		}
	}
}

func TestConfigurationErrorsSayWhatIsWrong(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8090", "ftp://x", "http://"} {
		if _, err := sandbox.New(sandbox.Config{BaseURL: url, Merchant: merchant, Secret: secret}); err == nil {
			t.Errorf("a provider takes the address %q", url)
		}
		if _, err := sandbox.NewServer(sandbox.Options{PublicURL: url, Merchant: merchant, Secret: secret}); err == nil {
			t.Errorf("a server takes the address %q", url)
		}
	}
	if _, err := sandbox.New(sandbox.Config{BaseURL: "http://x", Secret: secret}); err == nil {
		t.Error("a provider takes no merchant")
	}
}

// spy changes what passes between the provider and its server.
type spy struct {
	next    http.RoundTripper
	request func(*http.Request)
	answer  func(*http.Response)
}

func (s spy) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.request != nil {
		s.request(r)
	}
	resp, err := s.next.RoundTrip(r)
	if err == nil && s.answer != nil {
		s.answer(resp)
	}
	return resp, err
}

func (r *rig) through(t *testing.T, secret, merchant string, s spy) *sandbox.Provider {
	t.Helper()
	s.next = r.server.Client().Transport
	p, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Secret: secret, Merchant: merchant, HTTP: &http.Client{Transport: s}, Clock: r.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheServerCarriesOutOnlyWhatIsSigned(t *testing.T) {
	r := open(t)
	if _, err := r.through(t, "another secret of some length", merchant, spy{}).Create(t.Context(), r.charge(350)); err == nil {
		t.Error("another secret: created")
	}
	for _, header := range []string{sandbox.HeaderTimestamp, sandbox.HeaderNonce, sandbox.HeaderSignature} {
		p := r.through(t, secret, merchant, spy{request: func(r *http.Request) { r.Header.Del(header) }})
		if _, err := p.Create(t.Context(), r.charge(350)); err == nil {
			t.Errorf("without %s: created", header)
		}
	}
	p := r.through(t, secret, merchant, spy{request: func(r *http.Request) { change(&r.Body, "350", "351") }})
	if _, err := p.Create(t.Context(), r.charge(350)); err == nil {
		t.Error("another body: created")
	}
	if _, err := r.through(t, secret, "M101", spy{}).Create(t.Context(), r.charge(350)); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("another merchant: %v", err)
	}
	if n := r.server.Charged(); n != 0 {
		t.Errorf("%d charges", n)
	}
}

// The answer decides whether goods are given: only one that is signed, and for
// this request, is believed.
func TestTheProviderBelievesOnlyAnswersToItsOwnRequest(t *testing.T) {
	r := open(t)
	if _, err := r.Create(t.Context(), r.charge(350)); err != nil {
		t.Fatal(err)
	}
	p := r.through(t, secret, merchant, spy{answer: func(resp *http.Response) { change(&resp.Body, "unpaid", "paid") }})
	if got, err := p.Query(t.Context(), tradeNo); err == nil {
		t.Errorf("a changed answer: %+v", got)
	}
	var first *http.Response
	p = r.through(t, secret, merchant, spy{answer: func(resp *http.Response) {
		b, _ := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(b))
		if first == nil {
			first = &http.Response{Header: resp.Header.Clone(), Body: io.NopCloser(bytes.NewReader(b))}
			return
		}
		resp.Header, resp.Body = first.Header, first.Body
	}})
	if _, err := p.Query(t.Context(), tradeNo); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Query(t.Context(), tradeNo); err == nil {
		t.Errorf("the answer to another request: %+v", got)
	}
}

func change(body *io.ReadCloser, from, to string) {
	b, _ := io.ReadAll(*body)
	*body = io.NopCloser(bytes.NewReader([]byte(strings.ReplaceAll(string(b), from, to))))
}

// Requests, answers and callbacks share a secret, so none may pass for another.
func TestARequestIsNotACallback(t *testing.T) {
	r := open(t)
	var seen payment.Notification
	p := r.through(t, secret, merchant, spy{request: func(req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(b))
		seen = payment.Notification{Header: req.Header.Clone(), Body: b, At: r.clock.Now()}
	}})
	if _, err := p.Create(t.Context(), r.charge(350)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Verify(seen); err == nil {
		t.Errorf("it reads %+v", got)
	}
}

func TestACallbackForAnotherMerchantIsRefused(t *testing.T) {
	r := open(t)
	r.paid(t, 350)
	n, err := r.server.Callback(tradeNo)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.through(t, secret, "M101", spy{}).Verify(n); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf("it reads %+v, %v", got, err)
	}
}

// The border between nonce and body is a newline: a nonce that holds one could
// move bytes from one to the other under the same signature.
func TestTheNonceHoldsNoBorder(t *testing.T) {
	r := open(t)
	r.paid(t, 350)
	n, err := r.server.Callback(tradeNo)
	if err != nil {
		t.Fatal(err)
	}
	ts, nonce := n.Header.Get(sandbox.HeaderTimestamp), "a\nb"
	n.Header.Set(sandbox.HeaderNonce, nonce)
	n.Header.Set(sandbox.HeaderSignature, sandbox.Sign(secret, ts, nonce, n.Body))
	if got, err := r.Verify(n); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf("it reads %+v, %v", got, err)
	}
}

func TestASignedCallbackThatIsNoneIsUnreadable(t *testing.T) {
	r := open(t)
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"event":"charge.paid"}`,
		`{"event":"charge.lost","merchant":"M100","trade_no":"t","amount":1,"currency":"CNY","ref":"r","paid_at":1}`,
		`{"event":"charge.paid","merchant":"M100","trade_no":"t","amount":1.5,"currency":"CNY","ref":"r","paid_at":1}`,
		`{"event":"charge.paid","merchant":"M100","trade_no":"t","amount":-1,"currency":"CNY","ref":"r","paid_at":1}`,
		`{"event":"charge.paid","merchant":"M100","trade_no":"t","amount":1,"amount":2,"currency":"CNY","ref":"r","paid_at":1}`,
		`{"event":"charge.paid","merchant":"M100","trade_no":"t","amount":1,"currency":"yuan","ref":"r","paid_at":1}`,
		`{"event":"charge.paid","merchant":"M100","trade_no":"a b","amount":1,"currency":"CNY","ref":"r","paid_at":1}`,
	} {
		if got, err := r.Verify(signed(r, []byte(body))); err == nil || errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s reads %+v, %v", body, got, err)
		}
	}
	if got, err := r.Verify(signed(r, bytes.Repeat([]byte(" "), 64<<10+1))); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf("too large: %+v, %v", got, err)
	}
}

func signed(r *rig, body []byte) payment.Notification {
	ts := "1700000000"
	return payment.Notification{At: r.clock.Now(), Body: body, Header: http.Header{
		sandbox.HeaderTimestamp: {ts}, sandbox.HeaderNonce: {"n"}, sandbox.HeaderSignature: {sandbox.Sign(secret, ts, "n", body)},
	}}
}

func FuzzVerify(f *testing.F) {
	p, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Secret: secret, Merchant: merchant})
	if err != nil {
		f.Fatal(err)
	}
	good := []byte(`{"event":"charge.paid","merchant":"M100","trade_no":"` + tradeNo + `","amount":350,"currency":"CNY","ref":"r","paid_at":1700000000}`)
	at := int64(1_700_000_000)
	signature := sandbox.Sign(secret, "1700000000", "n", good)
	f.Add("1700000000", "n", signature, good, at)
	f.Add("1700000000", "n", strings.ToUpper(signature), good, at)
	f.Add("", "", "", []byte(nil), int64(0))
	f.Add("-9223372036854775808", "n\n", "00", []byte("{}"), at)
	f.Fuzz(func(t *testing.T, ts, nonce, sig string, body []byte, at int64) {
		n, err := p.Verify(payment.Notification{At: unix(at), Body: body, Header: http.Header{
			sandbox.HeaderTimestamp: {ts}, sandbox.HeaderNonce: {nonce}, sandbox.HeaderSignature: {sig},
		}})
		signed := ts == "1700000000" && nonce == "n" && sig == signature && slices.Equal(body, good)
		if !signed && !errors.Is(err, payment.ErrUnsigned) {
			t.Fatalf("it is taken for signed: %+v, %v", n, err)
		}
		if err == nil && (at < 1_700_000_000-300 || at > 1_700_000_000+300) {
			t.Fatalf("it is taken at %d", at)
		}
	})
}
