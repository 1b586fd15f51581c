package wechat_test

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/payment/paymenttest"
)

const (
	appID    = "wx8888888888888888"
	merchant = "1900000109"
	apiV3Key = "0123456789abcdef0123456789abcdef"
)

// keys are made once: making one takes longer than a test.
var keys = sync.OnceValue(func() (k struct{ merchant, oldPlatform, newPlatform *rsa.PrivateKey }) {
	for _, key := range []**rsa.PrivateKey{&k.merchant, &k.oldPlatform, &k.newPlatform} {
		var err error
		if *key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	return k
})

// certificate is a platform certificate as WeChat hands it out.
func certificate(t testing.TB, serial int64, key *rsa.PrivateKey) []byte {
	t.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "Tenpay.com sign"},
		NotBefore: time.Unix(1_600_000_000, 0), NotAfter: time.Unix(1_900_000_000, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// fake answers as WeChat Pay does, and signs as it does.
type fake struct {
	t      testing.TB
	clock  *paymenttest.Clock
	serial string // of the key it signs with
	key    *rsa.PrivateKey
	bare   bool // refusals carry no signature

	mu      sync.Mutex
	charges map[string]*charged
	seen    map[string]bool // nonces of requests
}

type charged struct {
	total     int64
	notifyURL string
	expires   string
	state     string
	ref       string
	paidAt    time.Time
	refunds   map[string]int64
	status    string // that refunds are answered with
}

func (c *charged) refunded() (sum int64) {
	for _, minor := range c.refunds {
		sum += minor
	}
	return sum
}

var authorization = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="([^"]*)",nonce_str="([^"]*)",timestamp="([^"]*)",serial_no="([^"]*)",signature="([^"]*)"$`)

// RoundTrip is the API.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, answer := http.StatusUnauthorized, any(refusal{"SIGN_ERROR", "the request is not signed"})
	if f.signed(r, body) {
		status, answer = f.route(r, body)
	}
	var raw []byte
	if answer != nil {
		if raw, err = json.Marshal(answer); err != nil {
			return nil, err
		}
	}
	h := http.Header{}
	if status < 300 || !f.bare {
		f.sign(h, raw)
	}
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: h, Body: io.NopCloser(strings.NewReader(string(raw))), Request: r}, nil
}

func (f *fake) signed(r *http.Request, body []byte) bool {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil || m[1] != merchant || m[4] != "MERCHANT01" || f.seen[m[2]] || m[3] != strconv.FormatInt(f.clock.Now().Unix(), 10) {
		return false
	}
	f.seen[m[2]] = true
	signature, err := base64.StdEncoding.DecodeString(m[5])
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s\n", r.Method, r.URL.RequestURI(), m[3], m[2], body))
	return err == nil && rsa.VerifyPKCS1v15(&keys().merchant.PublicKey, crypto.SHA256, digest[:], signature) == nil
}

func (f *fake) sign(h http.Header, body []byte) {
	ts, nonce := strconv.FormatInt(f.clock.Now().Unix(), 10), rand.Text()
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n", ts, nonce, body))
	signature, err := rsa.SignPKCS1v15(rand.Reader, f.key, crypto.SHA256, digest[:])
	if err != nil {
		f.t.Fatal(err)
	}
	h.Set("Wechatpay-Timestamp", ts)
	h.Set("Wechatpay-Nonce", nonce)
	h.Set("Wechatpay-Serial", f.serial)
	h.Set("Wechatpay-Signature", base64.StdEncoding.EncodeToString(signature))
}

type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// sent is every field that a request may have.
type sent struct {
	AppID       string `json:"appid"`
	Merchant    string `json:"mchid"`
	Description string `json:"description"`
	TradeNo     string `json:"out_trade_no"`
	Expires     string `json:"time_expire"`
	NotifyURL   string `json:"notify_url"`
	RefundNo    string `json:"out_refund_no"`
	Reason      string `json:"reason"`
	Amount      struct {
		Total    int64  `json:"total"`
		Refund   int64  `json:"refund"`
		Currency string `json:"currency"`
	} `json:"amount"`
}

func (f *fake) route(r *http.Request, body []byte) (int, any) {
	var in sent
	if r.Method == http.MethodPost {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return 400, refusal{"PARAM_ERROR", err.Error()}
		}
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/v3/"); {
	case path == "pay/transactions/native":
		return f.create(in)
	case path == "refund/domestic/refunds":
		return f.refund(in)
	case strings.HasSuffix(path, "/close"):
		return f.close(strings.TrimSuffix(strings.TrimPrefix(path, "pay/transactions/out-trade-no/"), "/close"))
	default:
		if r.URL.Query().Get("mchid") != merchant {
			return 400, refusal{"PARAM_ERROR", "mchid"}
		}
		return f.query(strings.TrimPrefix(path, "pay/transactions/out-trade-no/"))
	}
}

func (f *fake) create(in sent) (int, any) {
	c := f.charges[in.TradeNo]
	switch {
	case in.AppID != appID || in.Merchant != merchant || in.Amount.Currency != "CNY" || in.Amount.Total <= 0 || len(in.Description) > 127:
		return 400, refusal{"PARAM_ERROR", "a field is wrong"}
	case c == nil:
		f.charges[in.TradeNo] = &charged{total: in.Amount.Total, notifyURL: in.NotifyURL, expires: in.Expires, state: "NOTPAY", refunds: map[string]int64{}, status: "SUCCESS"}
	case c.total != in.Amount.Total || c.notifyURL != in.NotifyURL || c.expires != in.Expires:
		return 403, refusal{"OUT_TRADE_NO_USED", "another content"}
	case c.state == "SUCCESS":
		return 400, refusal{"ORDERPAID", "paid"}
	case c.state == "CLOSED":
		return 400, refusal{"ORDER_CLOSED", "closed"}
	}
	return 200, map[string]string{"code_url": "weixin://wxpay/bizpayurl?pr=" + in.TradeNo}
}

func (f *fake) query(tradeNo string) (int, any) {
	c := f.charges[tradeNo]
	if c == nil {
		return 404, refusal{"ORDER_NOT_EXIST", "unknown"}
	}
	return 200, f.transaction(tradeNo, c)
}

func (f *fake) transaction(tradeNo string, c *charged) map[string]any {
	state := c.state
	if c.refunded() > 0 {
		state = "REFUND"
	}
	out := map[string]any{"appid": appID, "mchid": merchant, "out_trade_no": tradeNo, "trade_state": state, "trade_state_desc": "…"}
	if c.state == "SUCCESS" {
		out["transaction_id"], out["success_time"] = c.ref, c.paidAt.In(time.FixedZone("", 8*3600)).Format(time.RFC3339)
		out["payer"] = map[string]string{"openid": "o"}
		out["amount"] = map[string]any{"total": c.total, "payer_total": c.total, "currency": "CNY", "payer_currency": "CNY"}
	}
	return out
}

func (f *fake) close(tradeNo string) (int, any) {
	c := f.charges[tradeNo]
	switch {
	case c == nil:
		return 404, refusal{"ORDER_NOT_EXIST", "unknown"}
	case c.state == "SUCCESS":
		return 400, refusal{"ORDERPAID", "paid"}
	case c.state == "TRADE_ERROR":
		return 403, refusal{"TRADE_ERROR", "it is not said what"}
	}
	c.state = "CLOSED"
	return 204, nil
}

func (f *fake) refund(in sent) (int, any) {
	c := f.charges[in.TradeNo]
	switch {
	case c == nil || c.state != "SUCCESS":
		return 404, refusal{"RESOURCE_NOT_EXISTS", "not paid"}
	case in.RefundNo == "" || len(in.RefundNo) > 64 || in.Amount.Total != c.total || in.Amount.Currency != "CNY":
		return 400, refusal{"PARAM_ERROR", "a field is wrong"}
	}
	if before, ok := c.refunds[in.RefundNo]; !ok {
		if in.Amount.Refund > c.total-c.refunded() {
			return 400, refusal{"INVALID_REQUEST", "more than is left"}
		}
		c.refunds[in.RefundNo] = in.Amount.Refund
	} else if before != in.Amount.Refund {
		return 400, refusal{"INVALID_REQUEST", "another amount"}
	}
	return 200, map[string]any{"refund_id": "50", "out_refund_no": in.RefundNo, "out_trade_no": in.TradeNo, "status": c.status,
		"amount": map[string]any{"refund": in.Amount.Refund, "total": c.total, "currency": "CNY"}}
}

// pay is the shopper.
func (f *fake) pay(tradeNo string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.charges[tradeNo]
	if c == nil || c.state != "NOTPAY" {
		return fmt.Errorf("it can not be paid: %+v", c)
	}
	c.state, c.ref, c.paidAt = "SUCCESS", "42000000"+tradeNo[:20], f.clock.Now()
	return nil
}

// callback is one attempt at the callback of a paid charge.
func (f *fake) callback(tradeNo string) payment.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.charges[tradeNo]
	twin := *c
	twin.refunds = nil // as it was when it was paid
	return f.event("TRANSACTION.SUCCESS", "EV-"+tradeNo[:28], f.transaction(tradeNo, &twin))
}

func (f *fake) event(kind, id string, says any) payment.Notification {
	plain, err := json.Marshal(says)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.envelope(map[string]any{"id": id, "create_time": "2023-11-15T06:13:20+08:00", "event_type": kind, "resource_type": "encrypt-resource",
		"summary": "…", "resource": f.encrypt(apiV3Key, plain)})
}

func (f *fake) encrypt(key string, plain []byte) map[string]string {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		f.t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		f.t.Fatal(err)
	}
	nonce := rand.Text()[:12]
	return map[string]string{"original_type": "transaction", "algorithm": "AEAD_AES_256_GCM", "associated_data": "transaction", "nonce": nonce,
		"ciphertext": base64.StdEncoding.EncodeToString(aead.Seal(nil, []byte(nonce), plain, []byte("transaction")))}
}

func (f *fake) envelope(v any) payment.Notification {
	body, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	n := payment.Notification{Header: http.Header{"Content-Type": {"application/json"}}, Body: body, At: f.clock.Now()}
	f.sign(n.Header, body)
	return n
}
