package wechat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

const tradeNo = "01900000000070008000000000000001"

// paid is a callback's resource as WeChat documents it, changed by what is given.
func paid(changes map[string]any) map[string]any {
	says := map[string]any{
		"transaction_id": "1217752501201407033233368018", "mchid": merchant, "appid": appID, "out_trade_no": tradeNo,
		"trade_type": "NATIVE", "trade_state": "SUCCESS", "trade_state_desc": "支付成功", "bank_type": "OTHERS", "attach": "",
		"success_time": "2023-11-15T06:13:20+08:00", "payer": map[string]string{"openid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},
		"amount": map[string]any{"total": 350, "payer_total": 350, "currency": "CNY", "payer_currency": "CNY"},
	}
	maps.Copy(says, changes)
	return says
}

func TestACallbackReadsAsWeChatDocumentsIt(t *testing.T) {
	p, f := open(t)
	got, err := p.Verify(f.event("TRANSACTION.SUCCESS", "EV-2018022511223320873", paid(nil)))
	want := payment.Notice{ID: "EV-2018022511223320873", Retry: true, TradeNo: tradeNo, Charged: payment.Charged{
		State: payment.Paid, Amount: money.Money{Minor: 350, Currency: "CNY"}, Merchant: merchant, Ref: "1217752501201407033233368018",
		PaidAt: got.PaidAt,
	}}
	if err != nil || got != want || !got.PaidAt.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("it reads %+v, %v", got, err)
	}
}

func TestACallbackForOthersIsRefused(t *testing.T) {
	p, f := open(t)
	for name, changes := range map[string]map[string]any{
		"app": {"appid": "wx9"}, "merchant": {"mchid": "1"}, "no app": {"appid": nil}, "no merchant": {"mchid": ""},
	} {
		if got, err := p.Verify(f.event("TRANSACTION.SUCCESS", "EV-1", paid(changes))); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("another %s: %+v, %v", name, got, err)
		}
	}
}

func TestASignedCallbackThatSaysNothingIsUnreadable(t *testing.T) {
	p, f := open(t)
	for name, n := range map[string]payment.Notification{
		"a fraction":     f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"amount": map[string]any{"total": 3.5, "currency": "CNY"}})),
		"a string":       f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"amount": map[string]any{"total": "350", "currency": "CNY"}})),
		"no amount":      f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"amount": nil})),
		"less than none": f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"amount": map[string]any{"total": -1, "currency": "CNY"}})),
		"no currency":    f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"amount": map[string]any{"total": 1}})),
		"no number":      f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"transaction_id": ""})),
		"no trade":       f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"out_trade_no": ""})),
		"no time":        f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"success_time": "yesterday"})),
		"another event":  f.event("PARKING.ENTER", "EV-1", paid(nil)),
		"another state":  f.event("TRANSACTION.SUCCESS", "EV-1", paid(map[string]any{"trade_state": "MAYBE"})),
		"no id":          f.event("TRANSACTION.SUCCESS", "", paid(nil)),
		"a long id":      f.event("TRANSACTION.SUCCESS", strings.Repeat("9", 65), paid(nil)),
		"no envelope":    f.envelope("hello"),
		"no resource":    f.envelope(map[string]any{"id": "EV-1", "event_type": "TRANSACTION.SUCCESS"}),
		"another key": f.envelope(map[string]any{"id": "EV-1", "event_type": "TRANSACTION.SUCCESS",
			"resource": f.encrypt(strings.Repeat("x", 32), []byte(`{}`))}),
	} {
		if got, err := p.Verify(n); err == nil || errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// The signature covers the envelope, the cipher what is in it: a resource moved
// from another callback, or with other data beside it, does not open.
func TestTheCipherCoversItsData(t *testing.T) {
	p, f := open(t)
	b, err := json.Marshal(paid(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]string){
		"associated data": func(r map[string]string) { r["associated_data"] = "refund" },
		"nonce":           func(r map[string]string) { r["nonce"] = "0123456789ab" },
		"short nonce":     func(r map[string]string) { r["nonce"] = "" },
		"ciphertext":      func(r map[string]string) { r["ciphertext"] = "AAAA" + r["ciphertext"][4:] },
		"no ciphertext":   func(r map[string]string) { r["ciphertext"] = "" },
		"algorithm":       func(r map[string]string) { r["algorithm"] = "none" },
	} {
		resource := f.encrypt(apiV3Key, b)
		change(resource)
		n := f.envelope(map[string]any{"id": "EV-1", "event_type": "TRANSACTION.SUCCESS", "resource": resource})
		if got, err := p.Verify(n); err == nil {
			t.Errorf("another %s: %+v", name, got)
		}
	}
}

func TestARefundsCallbackSaysNothingOfTheCharge(t *testing.T) {
	p, f := open(t)
	for _, event := range []string{"REFUND.SUCCESS", "REFUND.ABNORMAL", "REFUND.CLOSED"} {
		says := map[string]any{"mchid": merchant, "out_trade_no": tradeNo, "transaction_id": "4200", "out_refund_no": "r", "refund_id": "50",
			"refund_status": strings.TrimPrefix(event, "REFUND."), "amount": map[string]any{"total": 350, "refund": 350, "payer_total": 350, "payer_refund": 350}}
		got, err := p.Verify(f.event(event, "EV-2", says))
		if err != nil || got.State != "" || got.TradeNo != tradeNo || got.ID != "EV-2" || !got.Retry {
			t.Errorf("%s reads %+v, %v", event, got, err)
		}
		says["mchid"] = "1"
		if got, err := p.Verify(f.event(event, "EV-2", says)); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s of another merchant reads %+v, %v", event, got, err)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	p, f := open(t)
	body := f.event("TRANSACTION.SUCCESS", "EV-1", paid(nil)).Body
	for _, c := range []struct {
		name   string
		serial string
		fresh  bool // signed with the new key
		ok     bool
	}{
		{"the old key", oldSerial, false, true},
		{"the new key", newSerial, true, true},
		{"the old key under the new name", newSerial, false, false},
		{"the new key under the old name", oldSerial, true, false},
		{"a key nobody knows", "7777777777777777", false, false},
		{"a key without a name", "", false, false},
	} {
		f.serial, f.key = c.serial, keys().oldPlatform
		if c.fresh {
			f.key = keys().newPlatform
		}
		n := payment.Notification{Header: http.Header{}, Body: body, At: f.clock.Now()}
		f.sign(n.Header, body)
		_, err := p.Verify(n)
		if c.ok && err != nil || !c.ok && !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// WeChat sends false signatures on purpose, to see whether they are checked.
func TestWeChatsOwnProbeIsRefused(t *testing.T) {
	p, f := open(t)
	n := f.event("TRANSACTION.SUCCESS", "EV-1", paid(nil))
	n.Header.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+n.Header.Get("Wechatpay-Signature"))
	if got, err := p.Verify(n); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf("it reads %+v, %v", got, err)
	}
}

func TestAnswers(t *testing.T) {
	p, _ := open(t)
	if kept := p.Answer(true); kept.Status != http.StatusNoContent || len(kept.Body) != 0 {
		t.Errorf("kept: %+v", kept)
	}
	not := p.Answer(false)
	var body struct{ Code, Message string }
	if err := json.Unmarshal(not.Body, &body); err != nil || not.Status != 500 || body.Code != "FAIL" || body.Message == "" || not.ContentType != "application/json" {
		t.Errorf("not kept: %d %s", not.Status, not.Body)
	}
}

// WeChat publishes its pauses; every attempt has the same ID, a fresh time and
// a fresh signature, and each must verify when it comes.
func TestEveryAttemptOfADayVerifies(t *testing.T) {
	p, f := open(t)
	pauses := []time.Duration{15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		30 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 6 * time.Hour, 6 * time.Hour}
	first := f.event("TRANSACTION.SUCCESS", "EV-1", paid(nil))
	want, err := p.Verify(first)
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	for i, pause := range pauses {
		f.clock.Pass(pause)
		n := f.event("TRANSACTION.SUCCESS", "EV-1", paid(nil))
		got, err := p.Verify(n)
		if err != nil || got != want {
			t.Errorf("attempt %d reads %+v, %v", i+2, got, err)
		}
		if answer := p.Answer(i == len(pauses)-1); answer.Status/100 == 2 {
			heard = i + 2
		}
	}
	if heard != 16 {
		t.Errorf("heard at attempt %d", heard)
	}
	if _, err := p.Verify(payment.Notification{Header: first.Header, Body: first.Body, At: f.clock.Now()}); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf("the first one, a day later: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	p, fake := open(f)
	good := fake.event("TRANSACTION.SUCCESS", "EV-1", paid(nil))
	header := func(n payment.Notification, name string) string { return n.Header.Get("Wechatpay-" + name) }
	ts, nonce, serial, signature := header(good, "Timestamp"), header(good, "Nonce"), header(good, "Serial"), header(good, "Signature")
	f.Add(ts, nonce, serial, signature, good.Body)
	f.Add(ts, nonce, newSerial, signature, good.Body)
	f.Add(ts, nonce+"\n", serial, "\n"+signature, []byte(`{}`))
	f.Add("", "", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, gotTS, gotNonce, gotSerial, gotSignature string, body []byte) {
		n, err := p.Verify(payment.Notification{At: good.At, Body: body, Header: http.Header{
			"Wechatpay-Timestamp": {gotTS}, "Wechatpay-Nonce": {gotNonce}, "Wechatpay-Serial": {gotSerial}, "Wechatpay-Signature": {gotSignature},
		}})
		same := gotTS == ts && gotNonce == nonce && gotSerial == serial && gotSignature == signature && bytes.Equal(body, good.Body)
		if !same && !errors.Is(err, payment.ErrUnsigned) {
			t.Fatalf("it is taken for signed: %+v, %v", n, err)
		}
	})
}

// FuzzVerifySigned gives the reader bytes that are signed: it must not panic,
// and must not find a payment that is not there.
func FuzzVerifySigned(f *testing.F) {
	p, fake := open(f)
	f.Add([]byte(`{"id":"EV-1","event_type":"TRANSACTION.SUCCESS","resource":{"algorithm":"AEAD_AES_256_GCM","ciphertext":"AA==","nonce":"0123456789ab"}}`), false)
	b, err := json.Marshal(paid(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, true)
	f.Add([]byte(`{"amount":{"total":1e2}}`), true)
	f.Fuzz(func(t *testing.T, b []byte, inside bool) {
		n := payment.Notification{Header: http.Header{}, Body: b, At: fake.clock.Now()}
		if inside {
			n = fake.envelope(map[string]any{"id": "EV-1", "event_type": "TRANSACTION.SUCCESS", "resource": fake.encrypt(apiV3Key, b)})
		} else {
			fake.sign(n.Header, b)
		}
		got, err := p.Verify(n)
		if err == nil && (got.Merchant != merchant || got.TradeNo == "" || got.ID == "" || got.State == payment.Paid && got.Amount.Minor <= 0) {
			t.Fatalf("%s reads %+v", b, got)
		}
		if err == nil && !inside {
			t.Fatalf("without the key to the cipher, %s reads %+v", b, got)
		}
	})
}

// base64 has spare bits at its end, which a lenient reader overlooks.
func TestASignatureHasOneForm(t *testing.T) {
	p, f := open(t)
	n := f.event("TRANSACTION.SUCCESS", "EV-1", paid(nil))
	signature := strings.TrimRight(n.Header.Get("Wechatpay-Signature"), "=")
	last := signature[len(signature)-1]
	for _, other := range []string{signature[:len(signature)-1] + string(last+1) + "==", signature, signature + "=", signature[:9] + "\n" + signature[9:] + "=="} {
		n.Header.Set("Wechatpay-Signature", other)
		if got, err := p.Verify(n); !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%q: it reads %+v, %v", other, got, err)
		}
	}
}
