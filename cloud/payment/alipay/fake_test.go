package alipay_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/paymenttest"
)

const (
	appID  = "2014072300007148"
	seller = "2088101106499364"
	layout = "2006-01-02 15:04:05"
)

// keys are made once: making one takes longer than a test.
var keys = sync.OnceValue(func() (k struct{ app, alipay *rsa.PrivateKey }) {
	for _, key := range []**rsa.PrivateKey{&k.app, &k.alipay} {
		var err error
		if *key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	return k
})

func china(t time.Time) string { return t.In(time.FixedZone("", 8*3600)).Format(layout) }

// fake answers as Alipay's gateway does, and signs as it does.
type fake struct {
	t     testing.TB
	clock *paymenttest.Clock
	slow  bool // refunds are taken, and done later

	mu      sync.Mutex
	codes   map[string]*code  // made in advance; Alipay knows no charge of them yet
	charges map[string]*trade // of codes that a shopper opened
}

type code struct {
	fen  int64
	dead bool
}

type trade struct {
	fen     int64
	status  string
	ref     string
	paidAt  time.Time
	refunds map[string]int64
}

func (c *trade) refunded() (sum int64) {
	if c == nil {
		return 0
	}
	for _, fen := range c.refunds {
		sum += fen
	}
	return sum
}

// joined is what is signed, made in another way than the provider does.
func joined(params url.Values) string {
	var pairs []string
	for name := range params {
		pairs = append(pairs, name)
	}
	slices.Sort(pairs)
	for i, name := range pairs {
		pairs[i] = name + "=" + params.Get(name)
	}
	return strings.Join(pairs, "&")
}

func (f *fake) sign(what string) string {
	digest := sha256.Sum256([]byte(what))
	signature, err := rsa.SignPKCS1v15(rand.Reader, keys().alipay, crypto.SHA256, digest[:])
	if err != nil {
		f.t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// RoundTrip is the gateway.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	params, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, err
	}
	var answer string
	if f.signed(params) && r.URL.Query().Get("charset") == "utf-8" {
		method := params.Get("method")
		raw, err := json.Marshal(f.route(method, params))
		if err != nil {
			return nil, err
		}
		answer = fmt.Sprintf(`{"%s_response":%s,"sign":"%s"}`, strings.ReplaceAll(method, ".", "_"), raw, f.sign(string(raw)))
	} else {
		answer = `{"error_response":{"code":"40002","msg":"Invalid Arguments","sub_code":"isv.invalid-signature","sub_msg":"…"}}`
	}
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

func (f *fake) signed(params url.Values) bool {
	signature, err := base64.StdEncoding.DecodeString(params.Get("sign"))
	params.Del("sign")
	digest := sha256.Sum256([]byte(joined(params)))
	return err == nil && rsa.VerifyPKCS1v15(&keys().app.PublicKey, crypto.SHA256, digest[:], signature) == nil &&
		params.Get("app_id") == appID && params.Get("sign_type") == "RSA2" && params.Get("timestamp") == china(f.clock.Now())
}

// sent is every field that a request may have.
type sent struct {
	TradeNo   string `json:"out_trade_no"`
	Amount    string `json:"total_amount"`
	Subject   string `json:"subject"`
	Expires   string `json:"time_expire"`
	Refund    string `json:"refund_amount"`
	RequestNo string `json:"out_request_no"`
	Reason    string `json:"refund_reason"`
}

type answer = map[string]any

func refuse(subCode string) answer {
	return answer{"code": "40004", "msg": "Business Failed", "sub_code": "ACQ." + subCode, "sub_msg": "…"}
}

func (f *fake) route(method string, params url.Values) answer {
	var in sent
	d := json.NewDecoder(strings.NewReader(params.Get("biz_content")))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return refuse("INVALID_PARAMETER")
	}
	out := answer{}
	switch method {
	case "alipay.trade.precreate":
		out = f.precreate(in)
	case "alipay.trade.query":
		out = f.query(in)
	case "alipay.trade.close":
		out = f.close(in)
	case "alipay.trade.cancel":
		out = f.cancel(in)
	case "alipay.trade.refund":
		out = f.refund(in)
	case "alipay.trade.fastpay.refund.query":
		if _, ok := f.charges[in.TradeNo].refunds[in.RequestNo]; ok && !f.slow {
			out["refund_status"] = "REFUND_SUCCESS"
		}
	default:
		return answer{"code": "40002", "msg": "Invalid Arguments", "sub_code": "isv.invalid-method"}
	}
	if out["code"] == nil {
		out["code"], out["msg"], out["out_trade_no"] = "10000", "Success", in.TradeNo
	}
	return out
}

// fen reads an amount with exactly two decimals.
func fen(s string) int64 {
	whole, rest, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+rest, 10, 64)
	if !ok || len(rest) != 2 || err != nil {
		return -1
	}
	return n
}

func yuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

func (f *fake) precreate(in sent) answer {
	if fen(in.Amount) <= 0 || in.Subject == "" || len([]rune(in.Subject)) > 256 || strings.ContainsAny(in.Subject, "&=/") {
		return refuse("INVALID_PARAMETER")
	}
	switch c := f.charges[in.TradeNo]; {
	case c == nil && f.codes[in.TradeNo] != nil && f.codes[in.TradeNo].dead, c != nil && c.status == "TRADE_CLOSED":
		return refuse("TRADE_HAS_CLOSE")
	case c != nil && c.status == "TRADE_SUCCESS":
		return refuse("TRADE_HAS_SUCCESS")
	case c != nil && c.fen != fen(in.Amount):
		return refuse("CONTEXT_INCONSISTENT")
	}
	f.codes[in.TradeNo] = &code{fen: fen(in.Amount)}
	return answer{"qr_code": "https://qr.alipay.com/" + in.TradeNo}
}

func (f *fake) query(in sent) answer {
	c := f.charges[in.TradeNo]
	if c == nil {
		return refuse("TRADE_NOT_EXIST")
	}
	out := answer{"trade_no": c.ref, "trade_status": c.status, "total_amount": yuan(c.fen), "buyer_logon_id": "159****5620"}
	if !c.paidAt.IsZero() {
		out["send_pay_date"] = china(c.paidAt)
	}
	return out
}

func (f *fake) close(in sent) answer {
	c := f.charges[in.TradeNo]
	switch {
	case c == nil:
		return refuse("TRADE_NOT_EXIST")
	case c.status != "WAIT_BUYER_PAY":
		return refuse("TRADE_STATUS_ERROR")
	}
	c.status = "TRADE_CLOSED"
	return answer{"trade_no": c.ref}
}

func (f *fake) cancel(in sent) answer {
	if c := f.codes[in.TradeNo]; c != nil {
		c.dead = true
	}
	return answer{"retry_flag": "N", "action": "close"}
}

func (f *fake) refund(in sent) answer {
	c := f.charges[in.TradeNo]
	if c == nil {
		return refuse("TRADE_NOT_EXIST")
	}
	before, again := c.refunds[in.RequestNo]
	switch {
	case in.RequestNo == "" || len(in.RequestNo) > 64 || fen(in.Refund) <= 0:
		return refuse("INVALID_PARAMETER")
	case again && before != fen(in.Refund):
		return refuse("DISCORDANT_REPEAT_REQUEST")
	case again:
		return answer{"fund_change": "N", "refund_fee": yuan(c.refunded())}
	case fen(in.Refund) > c.fen-c.refunded():
		return refuse("REASON_TRADE_REFUND_FEE_ERR")
	case c.status != "TRADE_SUCCESS":
		return refuse("TRADE_STATUS_ERROR")
	}
	c.refunds[in.RequestNo] = fen(in.Refund)
	if c.refunded() == c.fen {
		c.status = "TRADE_CLOSED"
	}
	changed := "Y"
	if f.slow {
		changed = "N"
	}
	return answer{"fund_change": changed, "refund_fee": yuan(c.refunded())}
}

// scan is the shopper opening the code; only then does Alipay know a charge.
func (f *fake) scan(tradeNo string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.codes[tradeNo]
	switch {
	case c == nil || c.dead:
		return fmt.Errorf("the code is not good: %+v", c)
	case f.charges[tradeNo] == nil:
		f.charges[tradeNo] = &trade{fen: c.fen, status: "WAIT_BUYER_PAY", ref: "2013112011001004" + tradeNo[:12], refunds: map[string]int64{}}
	}
	return nil
}

// pay is the shopper opening the code, and paying.
func (f *fake) pay(tradeNo string) error {
	if err := f.scan(tradeNo); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.charges[tradeNo]
	if c.status != "WAIT_BUYER_PAY" {
		return fmt.Errorf("it can not be paid: %+v", c)
	}
	c.status, c.paidAt = "TRADE_SUCCESS", f.clock.Now()
	return nil
}

// says is what a callback of a paid charge says.
func (f *fake) says(tradeNo string) url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.charges[tradeNo]
	return url.Values{
		"notify_time": {china(f.clock.Now())}, "notify_type": {"trade_status_sync"}, "notify_id": {"ac05099524730693a8b330c5ecf72da9786"},
		"charset": {"utf-8"}, "version": {"1.0"}, "app_id": {appID}, "auth_app_id": {appID}, "seller_id": {seller}, "trade_no": {c.ref},
		"out_trade_no": {tradeNo}, "trade_status": {"TRADE_SUCCESS"}, "total_amount": {yuan(c.fen)}, "receipt_amount": {yuan(c.fen)},
		"buyer_pay_amount": {yuan(c.fen)}, "refund_fee": {"0.00"}, "subject": {"Vendline C001 可乐"}, "gmt_create": {china(c.paidAt)},
		"gmt_payment": {china(c.paidAt)}, "buyer_logon_id": {"159****5620"}, "fund_bill_list": {`[{"amount":"3.50","fundChannel":"ALIPAYACCOUNT"}]`},
	}
}

// callback signs what it says, as it is sent.
func (f *fake) callback(says url.Values) payment.Notification {
	says.Set("sign", f.sign(joined(says)))
	says.Set("sign_type", "RSA2")
	return payment.Notification{Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(says.Encode()), At: f.clock.Now()}
}
