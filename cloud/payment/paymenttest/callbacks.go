package paymenttest

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"vendline/cloud/payment"
)

func callbackRead(t *testing.T, r Rig) {
	c := r.paid(t)
	n, err := r.Provider.Verify(r.Callback(c.TradeNo))
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if n.TradeNo != c.TradeNo || n.State != payment.Paid || n.Amount != c.Amount || n.Merchant != r.Merchant || !n.PaidAt.Equal(r.Clock.Now()) {
		t.Errorf("it reads %+v", n)
	}
	if q := r.query(t, c.TradeNo); n.Ref != q.Ref {
		t.Errorf("the callback calls the payment %q, the query %q", n.Ref, q.Ref)
	}
	if id := n.ID; id == "" || len(id) > 64 || !ascii(id) {
		t.Errorf("its ID is %q", id)
	}
}

func callbackAgain(t *testing.T, r Rig) {
	c := r.paid(t)
	first, err := r.Provider.Verify(r.Callback(c.TradeNo))
	if err != nil {
		t.Fatal(err)
	}
	r.Clock.Pass(3 * time.Minute)
	second, err := r.Provider.Verify(r.Callback(c.TradeNo))
	if err != nil {
		t.Fatal(err)
	}
	if first.Retry != r.Repeats || second.Retry != r.Repeats || (first.ID == second.ID) != r.Repeats {
		t.Errorf("IDs %q and %q, retries %v and %v", first.ID, second.ID, first.Retry, second.Retry)
	}
	if first.Ref != second.Ref || !first.PaidAt.Equal(second.PaidAt) {
		t.Errorf("the same payment reads %+v and %+v", first, second)
	}
}

// refused checks that a changed callback is not taken for the provider's.
func (r Rig) refused(t *testing.T, n payment.Notification, format string, args ...any) {
	t.Helper()
	if got, err := r.Provider.Verify(n); !errors.Is(err, payment.ErrUnsigned) {
		t.Errorf(format+": %+v, %v", append(args, got, err)...)
	}
}

func callbackTampered(t *testing.T, r Rig) {
	c := r.paid(t)
	n := r.Callback(c.TradeNo)
	for i := range n.Body {
		body := bytes.Clone(n.Body)
		body[i] ^= 1
		r.refused(t, payment.Notification{Header: n.Header, Body: body, At: n.At}, "byte %d of %s", i, n.Body)
	}
	for _, name := range r.Signed {
		value := n.Header.Get(name)
		for i := range len(value) {
			changed := []byte(value)
			changed[i] ^= 1
			header := n.Header.Clone()
			header.Set(name, string(changed))
			r.refused(t, payment.Notification{Header: header, Body: n.Body, At: n.At}, "byte %d of %s: %s", i, name, value)
		}
	}
	for _, end := range [][]byte{nil, n.Body[:len(n.Body)-1], append(bytes.Clone(n.Body), ' '), append(bytes.Clone(n.Body), "&a=b"...)} {
		r.refused(t, payment.Notification{Header: n.Header, Body: end, At: n.At}, "cut or extended to %d bytes", len(end))
	}
}

func callbackBare(t *testing.T, r Rig) {
	c := r.paid(t)
	n := r.Callback(c.TradeNo)
	r.refused(t, payment.Notification{}, "nothing")
	for _, name := range r.Signed {
		for what, values := range map[string][]string{
			"without": nil, "with an empty": {""}, "with two": {n.Header.Get(name), n.Header.Get(name)},
			"with a padded": {" " + n.Header.Get(name)}, "with a broken": {n.Header.Get(name) + "\n"},
		} {
			header := n.Header.Clone()
			header[http.CanonicalHeaderKey(name)] = values
			r.refused(t, payment.Notification{Header: header, Body: n.Body, At: n.At}, "%s %s", what, name)
		}
	}
	if r.Forms {
		twice := append(append(bytes.Clone(n.Body), '&'), n.Body...)
		r.refused(t, payment.Notification{Header: n.Header, Body: twice, At: n.At}, "every field twice")
	}
}

func callbackAge(t *testing.T, r Rig) {
	c := r.paid(t)
	n := r.Callback(c.TradeNo)
	for _, c := range []struct {
		late time.Duration
		ok   bool
	}{
		{-6 * time.Minute, false}, {-5*time.Minute - time.Second, false}, {-5 * time.Minute, true}, {0, true},
		{5 * time.Minute, true}, {5*time.Minute + time.Second, false}, {6 * time.Minute, false}, {24 * 365 * time.Hour, false},
	} {
		_, err := r.Provider.Verify(payment.Notification{Header: n.Header, Body: n.Body, At: n.At.Add(c.late)})
		if c.ok && err != nil || !c.ok && !errors.Is(err, payment.ErrUnsigned) {
			t.Errorf("%v old: %v", c.late, err)
		}
	}
	r.refused(t, payment.Notification{Header: n.Header, Body: n.Body}, "come in at no time")
}

func answers(t *testing.T, r Rig) {
	kept, not := r.Provider.Answer(true), r.Provider.Answer(false)
	if kept.Status < 200 || kept.Status > 299 {
		t.Errorf("a kept callback is answered %d", kept.Status)
	}
	if kept.Status == not.Status && bytes.Equal(kept.Body, not.Body) {
		t.Errorf("both are answered %d %s", kept.Status, kept.Body)
	}
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
