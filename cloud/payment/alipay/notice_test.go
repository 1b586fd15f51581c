package alipay_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

const tradeNo = "01900000000070008000000000000001"

// paidSays is what the callback of a paid charge of 3.50 says, changed by what
// is given as name, value; an empty value takes the name away.
func paidSays(t testing.TB, f *fake, changes ...string) url.Values {
	t.Helper()
	if f.charges[tradeNo] == nil {
		f.codes[tradeNo] = &code{fen: 350}
		if err := f.pay(tradeNo); err != nil {
			t.Fatal(err)
		}
	}
	says := f.says(tradeNo)
	for i := 0; i < len(changes); i += 2 {
		says.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			says.Del(changes[i])
		}
	}
	return says
}

func TestACallbackReadsAsAlipayDocumentsIt(t *testing.T) {
	p, f := open(t)
	for _, status := range []string{"TRADE_SUCCESS", "TRADE_FINISHED"} {
		got, err := p.Verify(f.callback(paidSays(t, f, "trade_status", status)))
		want := payment.Notice{ID: "ac05099524730693a8b330c5ecf72da9786", Retry: true, TradeNo: tradeNo, Charged: payment.Charged{
			State: payment.Paid, Amount: money.Money{Minor: 350, Currency: "CNY"}, Merchant: seller, Ref: f.charges[tradeNo].ref, PaidAt: got.PaidAt,
		}}
		if err != nil || got != want || !got.PaidAt.Equal(f.clock.Now()) {
			t.Errorf("%s reads %+v, %v", status, got, err)
		}
	}
}

func TestOnlyAPaidChargeReadsPaid(t *testing.T) {
	p, f := open(t)
	for _, c := range []struct {
		name    string
		changes []string
		want    payment.ChargeState
	}{
		{"opened", []string{"trade_status", "WAIT_BUYER_PAY", "gmt_payment", ""}, payment.Unpaid},
		{"closed unpaid", []string{"trade_status", "TRADE_CLOSED", "gmt_payment", ""}, payment.Closed},
		{"all given back", []string{"trade_status", "TRADE_CLOSED"}, ""},
		{"all given back, in words", []string{"trade_status", "TRADE_CLOSED", "refund_fee", "3.50", "gmt_refund", "2023-11-15 06:13:20"}, ""},
		{"a part given back", []string{"refund_fee", "1.00", "gmt_refund", "2023-11-15 06:13:20.123"}, ""},
		{"a part given back, without a time", []string{"refund_fee", "1.00"}, ""},
		{"nothing given back", []string{"refund_fee", "0.00"}, payment.Paid},
		{"nothing said of giving back", []string{"refund_fee", ""}, payment.Paid},
	} {
		got, err := p.Verify(f.callback(paidSays(t, f, c.changes...)))
		if err != nil || got.State != c.want || got.TradeNo != tradeNo || !got.Retry {
			t.Errorf("%s reads %+v, %v", c.name, got, err)
		}
	}
}

func TestACallbackForOthersIsRefused(t *testing.T) {
	p, f := open(t)
	for _, changes := range [][]string{{"app_id", "1"}, {"app_id", ""}, {"seller_id", "2"}, {"seller_id", ""}} {
		if got, err := p.Verify(f.callback(paidSays(t, f, changes...))); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%v reads %+v, %v", changes, got, err)
		}
	}
}

func TestACallbackWithoutATimeIsRefused(t *testing.T) {
	p, f := open(t)
	for _, at := range []string{"", "yesterday", "2023-11-15T06:13:20+08:00", "1700000000", "2023-11-14 22:13:20" /* of UTC */} {
		if got, err := p.Verify(f.callback(paidSays(t, f, "notify_time", at))); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("sent at %q, it reads %+v, %v", at, got, err)
		}
	}
}

func TestASignedCallbackThatSaysNothingIsUnreadable(t *testing.T) {
	p, f := open(t)
	for _, changes := range [][]string{
		{"total_amount", ""}, {"total_amount", "3.501"}, {"total_amount", "3.5e2"}, {"total_amount", "-3.50"}, {"total_amount", "+3.50"},
		{"total_amount", "0.00"}, {"total_amount", "3,50"}, {"total_amount", "NaN"}, {"total_amount", "99999999999999999999.00"},
		{"trade_no", ""}, {"out_trade_no", ""}, {"notify_id", ""}, {"gmt_payment", ""}, {"gmt_payment", "now"},
		{"trade_status", ""}, {"trade_status", "TRADE_MAYBE"}, {"refund_fee", "some"},
	} {
		if got, err := p.Verify(f.callback(paidSays(t, f, changes...))); err == nil || errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%v reads %+v, %v", changes, got, err)
		}
	}
}

func TestAFieldIsThereOnce(t *testing.T) {
	p, f := open(t)
	n := f.callback(paidSays(t, f))
	for _, more := range []string{"&total_amount=3.50", "&out_trade_no=x", "&sign=x", "&sign_type=RSA2", "&sign_type=RSA"} {
		body := append(bytes.Clone(n.Body), more...)
		if got, err := p.Verify(payment.Notification{Body: body, At: n.At}); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("with %s it reads %+v, %v", more, got, err)
		}
	}
	for _, form := range []string{"%", "%zz=1", "a;b", "sign=x"} {
		if _, err := p.Verify(payment.Notification{Body: []byte(form), At: n.At}); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestOnlyRSA2IsTaken(t *testing.T) {
	p, f := open(t)
	for _, kind := range []string{"", "RSA", "rsa2", "MD5", "none"} {
		says := paidSays(t, f)
		f.callback(says)
		says.Set("sign_type", kind)
		if got, err := p.Verify(payment.Notification{Body: []byte(says.Encode()), At: f.clock.Now()}); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%q reads %+v, %v", kind, got, err)
		}
	}
}

// Alipay sends the same notify_id for a day; each attempt must verify when it
// comes, and read the same.
func TestEveryAttemptOfADayVerifies(t *testing.T) {
	p, f := open(t)
	want, err := p.Verify(f.callback(paidSays(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	for _, pause := range []time.Duration{4 * time.Minute, 10 * time.Minute, 10 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 15 * time.Hour} {
		f.clock.Pass(pause)
		if got, err := p.Verify(f.callback(paidSays(t, f))); err != nil || got != want {
			t.Errorf("%v later it reads %+v, %v", pause, got, err)
		}
	}
}

func TestALongNotifyIDFitsOurTable(t *testing.T) {
	p, f := open(t)
	ids := map[string]bool{}
	for _, id := range []string{strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 128), "可乐", "a b"} {
		for range 2 {
			got, err := p.Verify(f.callback(paidSays(t, f, "notify_id", id)))
			if err != nil || len(got.ID) > 64 || strings.ContainsFunc(got.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("%q becomes %q, %v", id, got.ID, err)
			}
			ids[got.ID] = true
		}
	}
	if len(ids) != 5 {
		t.Errorf("five became %d", len(ids))
	}
}

func TestAnswersAreTheWordsThatAlipayKnows(t *testing.T) {
	p, _ := open(t)
	for kept, want := range map[bool]string{true: "success", false: "fail"} {
		if got := p.Answer(kept); string(got.Body) != want || got.Status != http.StatusOK || got.ContentType != "text/plain" {
			t.Errorf("kept %v: %d %s %q", kept, got.Status, got.ContentType, got.Body)
		}
	}
}

// FuzzVerify changes a good callback at will: it is refused unless all that is
// signed, and the signature, are as they were.
func FuzzVerify(f *testing.F) {
	p, fake := open(f)
	good := fake.callback(paidSays(f, fake))
	f.Add(good.Body)
	f.Add([]byte("sign_type=RSA2&sign=AAAA"))
	f.Add(bytes.ReplaceAll(good.Body, []byte("3.50"), []byte("0.01")))
	f.Add([]byte(nil))
	want, err := url.ParseQuery(string(good.Body))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := p.Verify(payment.Notification{Body: body, At: good.At})
		if errors.Is(err, payment.ErrUnsigned) {
			return
		}
		if is, parse := url.ParseQuery(string(body)); parse != nil || is.Encode() != want.Encode() {
			t.Fatalf("%s is taken for signed: %+v, %v", body, got, err)
		}
	})
}

// base64 has spare bits at its end, which a lenient reader overlooks.
func TestASignatureHasOneForm(t *testing.T) {
	p, f := open(t)
	says := paidSays(t, f)
	f.callback(says)
	signature := strings.TrimRight(says.Get("sign"), "=")
	last := signature[len(signature)-1]
	for _, other := range []string{signature[:len(signature)-1] + string(last+1) + "==", signature, signature + "=", signature[:9] + "\n" + signature[9:] + "=="} {
		says.Set("sign", other)
		if got, err := p.Verify(payment.Notification{Body: []byte(says.Encode()), At: f.clock.Now()}); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%q: it reads %+v, %v", other, got, err)
		}
	}
}
