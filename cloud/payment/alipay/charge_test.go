package alipay_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/alipay"
	"vendline/shared/money"
)

func cny(fen int64) money.Money { return money.Money{Minor: fen, Currency: "CNY"} }

func charge(f *fake) payment.Charge {
	return payment.Charge{TradeNo: tradeNo, Amount: cny(350), Description: "Vendline C001", ExpiresAt: f.clock.Now().Add(15 * time.Minute),
		NotifyURL: "https://vend.example/v1/payments/alipay/notify"}
}

// through lets change see each request and its answer.
func through(t *testing.T, f *fake, change func(url.Values, *http.Response)) *alipay.Provider {
	t.Helper()
	cfg := config(f)
	cfg.HTTP = &http.Client{Transport: spy{f, change}}
	p, err := alipay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type spy struct {
	next   http.RoundTripper
	change func(url.Values, *http.Response)
}

func (s spy) RoundTrip(r *http.Request) (*http.Response, error) {
	again, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(again)
	if err != nil {
		return nil, err
	}
	params, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(r)
	if err == nil {
		s.change(params, resp)
	}
	return resp, err
}

func say(resp *http.Response, answer string) { resp.Body = io.NopCloser(strings.NewReader(answer)) }

func TestACreateSaysAllThatAlipayNeeds(t *testing.T) {
	_, f := open(t)
	var params url.Values
	p := through(t, f, func(sent url.Values, _ *http.Response) { params = sent })
	c := charge(f)
	c.Description = "A & B = C / D 可乐"
	got, err := p.Create(t.Context(), c)
	if err != nil || got.URL != "https://qr.alipay.com/"+tradeNo {
		t.Fatalf("create: %+v, %v", got, err)
	}
	want := `{"out_trade_no":"` + tradeNo + `","total_amount":"3.50","subject":"A   B   C   D 可乐","time_expire":"2023-11-15 06:28:20"}`
	if params.Get("biz_content") != want || params.Get("notify_url") != c.NotifyURL || params.Get("method") != "alipay.trade.precreate" {
		t.Errorf("it sent %v", params)
	}
}

func TestAmountsAreSentExactly(t *testing.T) {
	p, f := open(t)
	for _, fen := range []int64{1, 9, 10, 99, 100, 101, 350, 1_005, 100_000_000_00, 9_007_199_254_740_993} {
		c := charge(f)
		c.Amount = cny(fen)
		if _, err := p.Create(t.Context(), c); err != nil || f.codes[tradeNo].fen != fen {
			t.Errorf("%v arrives as %d, %v", c.Amount, f.codes[tradeNo].fen, err)
		}
	}
}

func TestWhatCanNotBeChargedIsRefusedBeforeItIsSent(t *testing.T) {
	_, f := open(t)
	p := through(t, f, func(url.Values, *http.Response) { t.Error("something was sent") })
	for name, change := range map[string]func(*payment.Charge){
		"dollars":     func(c *payment.Charge) { c.Amount.Currency = "USD" },
		"nothing":     func(c *payment.Charge) { c.Amount.Minor = 0 },
		"less":        func(c *payment.Charge) { c.Amount.Minor = -1 },
		"with dashes": func(c *payment.Charge) { c.TradeNo = "01900000-0000-7000-8000-000000000001" },
	} {
		c := charge(f)
		change(&c)
		if _, err := p.Create(t.Context(), c); !errors.Is(err, payment.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChargeIsKnownOnceItsCodeIsOpened(t *testing.T) {
	p, f := open(t)
	if _, err := p.Create(t.Context(), charge(f)); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Query(t.Context(), tradeNo); err != nil || got.State != payment.NotFound {
		t.Errorf("before: %+v, %v", got, err)
	}
	if err := f.scan(tradeNo); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Query(t.Context(), tradeNo); err != nil || got.State != payment.Unpaid {
		t.Errorf("after: %+v, %v", got, err)
	}
	other := charge(f)
	other.Amount = cny(351)
	if _, err := p.Create(t.Context(), other); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("another amount: %v", err)
	}
	if err := p.Close(t.Context(), tradeNo); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := f.pay(tradeNo); err == nil {
		t.Error("it could be paid")
	}
	if got, err := p.Query(t.Context(), tradeNo); err != nil || got.State != payment.Closed {
		t.Errorf("closed: %+v, %v", got, err)
	}
}

func TestACodeIsNotClosedUntilAlipaySaysSo(t *testing.T) {
	_, f := open(t)
	p := through(t, f, func(sent url.Values, resp *http.Response) {
		if sent.Get("method") == "alipay.trade.cancel" {
			raw := `{"code":"10000","msg":"Success","retry_flag":"Y"}`
			say(resp, `{"alipay_trade_cancel_response":`+raw+`,"sign":"`+f.sign(raw)+`"}`)
		}
	})
	if err := p.Close(t.Context(), tradeNo); err == nil {
		t.Error("it is closed")
	}
}

// An answer decides whether goods are given: only a signed one, to this call
// and about this charge, is believed.
func TestAnswersAreBelievedOnlyWhenSigned(t *testing.T) {
	paid := `{"code":"10000","msg":"Success","out_trade_no":"` + tradeNo + `","trade_no":"1","trade_status":"TRADE_SUCCESS","total_amount":"3.50","send_pay_date":"2023-11-15 06:13:20"}`
	_, f := open(t)
	for name, answer := range map[string]string{
		"no signature":        `{"alipay_trade_query_response":` + paid + `}`,
		"another's":           `{"alipay_trade_query_response":` + paid + `,"sign":"` + f.sign(paid+" ") + `"}`,
		"not base64":          `{"alipay_trade_query_response":` + paid + `,"sign":"!"}`,
		"another call's":      `{"alipay_trade_close_response":` + paid + `,"sign":"` + f.sign(paid) + `"}`,
		"two of them":         `{"alipay_trade_query_response":` + paid + `,"alipay_trade_query_response":{"code":"10000"},"sign":"` + f.sign(paid) + `"}`,
		"another charge":      signedAs(f, strings.ReplaceAll(paid, tradeNo, "other")),
		"a fraction of fen":   signedAs(f, strings.ReplaceAll(paid, "3.50", "3.505")),
		"an unknown status":   signedAs(f, strings.ReplaceAll(paid, "TRADE_SUCCESS", "TRADE_MAYBE")),
		"an unsigned error":   `{"alipay_trade_query_response":{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}}`,
		"the gateway's":       `{"error_response":{"code":"40002","msg":"Invalid Arguments","sub_code":"isv.invalid-signature"}}`,
		"a service not there": signedAs(f, `{"code":"20000","msg":"Service Currently Unavailable","sub_code":"isp.unknow-error"}`),
		"nothing":             ``,
		"a page":              `<html>`,
	} {
		p := through(t, f, func(_ url.Values, resp *http.Response) { say(resp, answer) })
		if got, err := p.Query(t.Context(), tradeNo); err == nil || errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	p := through(t, f, func(_ url.Values, resp *http.Response) { say(resp, signedAs(f, paid)) })
	if got, err := p.Query(t.Context(), tradeNo); err != nil || got.State != payment.Paid || got.Amount != cny(350) {
		t.Errorf("a good one: %+v, %v", got, err)
	}
}

func signedAs(f *fake, raw string) string {
	return `{"alipay_trade_query_response":` + raw + `,"sign":"` + f.sign(raw) + `"}`
}

func TestAServerErrorLeavesTheOutcomeUnknown(t *testing.T) {
	_, f := open(t)
	p := through(t, f, func(_ url.Values, resp *http.Response) { resp.StatusCode = 502 })
	_, create := p.Create(t.Context(), charge(f))
	_, refund := p.Refund(t.Context(), payment.Refund{ID: "r", TradeNo: tradeNo, Amount: cny(1), Total: cny(350)})
	for what, err := range map[string]error{"create": create, "close": p.Close(t.Context(), tradeNo), "refund": refund} {
		if err == nil || errors.Is(err, payment.ErrPaid) || errors.Is(err, payment.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
