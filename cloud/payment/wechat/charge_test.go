package wechat_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vendline/cloud/payment"
	"vendline/cloud/payment/wechat"
	"vendline/shared/money"
)

func yuan(minor int64) money.Money { return money.Money{Minor: minor, Currency: "CNY"} }

func charge(f *fake) payment.Charge {
	return payment.Charge{TradeNo: tradeNo, Amount: yuan(350), Description: "Vendline C001", ExpiresAt: f.clock.Now().Add(15 * time.Minute),
		NotifyURL: "https://vend.example/v1/payments/wechat/notify"}
}

// through lets change see each request and its answer.
func through(t *testing.T, f *fake, change func(*http.Request, *http.Response)) *wechat.Provider {
	t.Helper()
	cfg := config(f)
	cfg.Platform[oldSerial] = &keys().oldPlatform.PublicKey
	cfg.HTTP = &http.Client{Transport: spy{f, change}}
	p, err := wechat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type spy struct {
	next   http.RoundTripper
	change func(*http.Request, *http.Response)
}

func (s spy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err == nil {
		s.change(r, resp)
	}
	return resp, err
}

func TestADescriptionIsCutBetweenCharacters(t *testing.T) {
	_, f := open(t)
	var body string
	p := through(t, f, func(r *http.Request, _ *http.Response) {
		again, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(again)
		body = string(b)
	})
	c := charge(f)
	c.Description = strings.Repeat("可乐", 40)
	got, err := p.Create(t.Context(), c)
	if err != nil || !strings.HasPrefix(got.URL, "weixin://") {
		t.Fatalf("create: %+v, %v", got, err)
	}
	if !utf8.ValidString(body) || !strings.Contains(body, strings.Repeat("可乐", 21)+`"`) || !strings.Contains(body, `"time_expire":"2023-11-14T22:28:20Z"`) {
		t.Errorf("it sent %s", body)
	}
}

func TestWhatCanNotBeChargedIsRefusedBeforeItIsSent(t *testing.T) {
	_, f := open(t)
	p := through(t, f, func(*http.Request, *http.Response) { t.Error("something was sent") })
	for name, change := range map[string]func(*payment.Charge){
		"dollars":     func(c *payment.Charge) { c.Amount.Currency = "USD" },
		"nothing":     func(c *payment.Charge) { c.Amount.Minor = 0 },
		"less":        func(c *payment.Charge) { c.Amount.Minor = -1 },
		"with dashes": func(c *payment.Charge) { c.TradeNo = "01900000-0000-7000-8000-000000000001" },
		"a path":      func(c *payment.Charge) { c.TradeNo = "../../x" },
	} {
		c := charge(f)
		change(&c)
		if _, err := p.Create(t.Context(), c); !errors.Is(err, payment.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Refund(t.Context(), payment.Refund{ID: "r", TradeNo: tradeNo, Amount: money.Money{Minor: 1, Currency: "USD"}, Total: yuan(350)}); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("a refund of dollars: %v", err)
	}
}

// An answer decides whether goods are given: only a signed one, of this moment
// and about this charge, is believed.
func TestAnswersAreBelievedOnlyWhenSigned(t *testing.T) {
	for name, change := range map[string]func(*http.Request, *http.Response){
		"no signature": func(_ *http.Request, r *http.Response) { r.Header = http.Header{} },
		"another body": func(_ *http.Request, r *http.Response) {
			r.Body = io.NopCloser(strings.NewReader(`{"trade_state":"SUCCESS"}`))
		},
		"another serial": func(_ *http.Request, r *http.Response) { r.Header.Set("Wechatpay-Serial", newSerial) },
		"an old one":     func(_ *http.Request, r *http.Response) { r.Header.Set("Wechatpay-Timestamp", "1699999000") },
	} {
		_, f := open(t)
		f.charges[tradeNo] = &charged{total: 350, state: "NOTPAY"}
		if got, err := through(t, f, change).Query(t.Context(), tradeNo); err == nil || errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err := through(t, f, change).Close(t.Context(), tradeNo); err == nil {
			t.Errorf("%s: closed", name)
		}
	}
}

func TestRefusalsNeedNoSignatureButAFalseOneIsNotBelieved(t *testing.T) {
	p, f := open(t)
	f.bare = true
	if got, err := p.Query(t.Context(), tradeNo); err != nil || got.State != payment.NotFound {
		t.Errorf("an unsigned refusal: %+v, %v", got, err)
	}
	f.bare = false
	p = through(t, f, func(_ *http.Request, r *http.Response) { r.Header.Set("Wechatpay-Nonce", "other") })
	if got, err := p.Query(t.Context(), tradeNo); err == nil {
		t.Errorf("a falsely signed refusal: %+v", got)
	}
}

func TestAServerErrorLeavesTheOutcomeUnknown(t *testing.T) {
	_, f := open(t)
	p := through(t, f, func(_ *http.Request, r *http.Response) {
		r.StatusCode, r.Header = 500, http.Header{}
		r.Body = io.NopCloser(strings.NewReader(`{"code":"ORDERPAID"}`))
	})
	_, create := p.Create(t.Context(), charge(f))
	_, refund := p.Refund(t.Context(), payment.Refund{ID: "r", TradeNo: tradeNo, Amount: yuan(1), Total: yuan(350)})
	for what, err := range map[string]error{"create": create, "close": p.Close(t.Context(), tradeNo), "refund": refund} {
		if err == nil || errors.Is(err, payment.ErrPaid) || errors.Is(err, payment.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnAnswerAboutAnotherChargeIsNotBelieved(t *testing.T) {
	p, f := open(t)
	f.charges[tradeNo] = &charged{total: 350, state: "NOTPAY", refunds: map[string]int64{}}
	if _, err := p.Query(t.Context(), tradeNo); err != nil {
		t.Fatal(err)
	}
	p = through(t, f, func(_ *http.Request, r *http.Response) {
		body := strings.ReplaceAll(fmt.Sprintf(`{"appid":%q,"mchid":%q,"out_trade_no":"other","trade_state":"NOTPAY"}`, appID, merchant), " ", "")
		r.Body = io.NopCloser(strings.NewReader(body))
		f.sign(r.Header, []byte(body))
	})
	if got, err := p.Query(t.Context(), tradeNo); err == nil {
		t.Errorf("it is believed: %+v", got)
	}
}

func TestARefusalToCloseThatSaysLittleIsLookedInto(t *testing.T) {
	p, f := open(t)
	f.charges[tradeNo] = &charged{total: 350, state: "TRADE_ERROR", refunds: map[string]int64{}}
	if err := p.Close(t.Context(), tradeNo); err == nil || errors.Is(err, payment.ErrPaid) {
		t.Errorf("a state nobody knows: %v", err)
	}
	for state, want := range map[string]error{"SUCCESS": payment.ErrPaid, "CLOSED": nil} {
		p := through(t, f, func(r *http.Request, resp *http.Response) {
			f.charges[tradeNo].state = "TRADE_ERROR"
			if r.Method == http.MethodPost { // the refusal; the query that follows finds it out
				f.charges[tradeNo] = &charged{total: 350, state: state, ref: "4200", paidAt: f.clock.Now(), refunds: map[string]int64{}}
			}
		})
		f.charges[tradeNo].state = "TRADE_ERROR"
		if err := p.Close(t.Context(), tradeNo); !errors.Is(err, want) {
			t.Errorf("%s behind it: %v", state, err)
		}
	}
}
