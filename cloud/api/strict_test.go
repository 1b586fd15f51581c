package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"vendline/shared/wire"
)

// Every one of these would, somewhere, have moved stock or been read in two ways.
func TestWhatIsNotExactlyAnOrderIsRefusedAndNamed(t *testing.T) {
	s := open(t, map[string]int64{"cola": 5})
	line := func(l string) string {
		return `{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":1},` + l + `]}`
	}
	lines := func(l string) string { return `{"cabinet":"C001","user":"u1","lines":` + l + `}` }
	for _, c := range []struct{ name, body, field string }{
		{"negative", line(`{"sku":"cola","qty":-5}`), "lines[1].qty"},
		{"zero", line(`{"sku":"cola","qty":0}`), "lines[1].qty"},
		{"a thousand", line(`{"sku":"cola","qty":1000}`), "lines[1].qty"},
		{"999 and one more", line(`{"sku":"cola","qty":999}`), "lines[1].qty"},
		{"null", line(`{"sku":"cola","qty":null}`), "lines[1].qty"},
		{"a string", line(`{"sku":"cola","qty":"2"}`), "lines[1].qty"},
		{"a fraction", line(`{"sku":"cola","qty":1.5}`), "lines[1].qty"},
		{"an exponent", line(`{"sku":"cola","qty":1e2}`), "lines[1].qty"},
		{"a whole number with a point", line(`{"sku":"cola","qty":1.0}`), "lines[1].qty"},
		{"beyond a double", line(`{"sku":"cola","qty":9007199254740993}`), "lines[1].qty"},
		{"int64 max", line(`{"sku":"cola","qty":9223372036854775807}`), "lines[1].qty"},
		{"beyond int64", line(`{"sku":"cola","qty":9223372036854775808}`), "lines[1].qty"},
		{"missing qty", line(`{"sku":"cola"}`), "lines[1].qty"},
		{"duplicate key", line(`{"sku":"cola","qty":1,"qty":9}`), "lines[1].qty"},
		{"duplicate key, escaped", line(`{"sku":"cola","qty":1,"qt\u0079":9}`), "lines[1].qty"},
		{"QTY", line(`{"sku":"cola","QTY":9}`), "lines[1].QTY"},
		{"unknown field", line(`{"sku":"cola","qty":1,"price":0}`), "lines[1].price"},
		{"SKU is a number", line(`{"sku":7,"qty":1}`), "lines[1].sku"},
		{"SKU with byte 0xff", line("{\"sku\":\"co\xffla\",\"qty\":1}"), ""},
		{"SKU with a lone surrogate", line(`{"sku":"co\ud800","qty":1}`), "lines[1].sku"},
		{"SKU with NUL", line(`{"sku":"co\u0000la","qty":1}`), "lines[1].sku"},
		{"SKU of a reserved field", line(`{"sku":"#gen","qty":1}`), "lines[1].sku"},
		{"SKU of 65 characters", line(`{"sku":"` + strings.Repeat("a", 65) + `","qty":1}`), "lines[1].sku"},
		{"missing SKU", line(`{"qty":1}`), "lines[1].sku"},
		{"a line is null", line(`null`), "lines[1]"},
		{"a line is a list", line(`[]`), "lines[1]"},
		{"no lines", `{"cabinet":"C001","user":"u1"}`, "lines"},
		{"empty lines", lines(`[]`), "lines"},
		{"null lines", lines(`null`), "lines"},
		{"lines is an object", lines(`{"sku":"cola","qty":1}`), "lines"},
		{"51 lines", lines(`[` + strings.Repeat(`{"sku":"cola","qty":1},`, 50) + `{"sku":"cola","qty":1}]`), "lines"},
		{"trailing comma", lines(`[{"sku":"cola","qty":1},]`), ""},
		{"trailing object", basket + `{}`, ""},
		{"trailing }{", basket + `}{`, ""},
		{"trailing junk", basket + ` x`, ""},
		{"cut off", basket[:len(basket)-1], ""},
		{"empty body", ``, ""},
		{"a list", `[]`, ""},
		{"null", `null`, ""},
		{"a string", `"cola"`, ""},
		{"empty object", `{}`, "cabinet"},
		{"cabinet twice", `{"cabinet":"C001","cabinet":"C002","user":"u1","lines":[{"sku":"cola","qty":1}]}`, "cabinet"},
		{"cabinet +", strings.Replace(basket, "C001", "+", 1), "cabinet"},
		{"cabinet #", strings.Replace(basket, "C001", "#", 1), "cabinet"},
		{"cabinet a/b", strings.Replace(basket, "C001", "a/b", 1), "cabinet"},
		{"cabinet {C001}", strings.Replace(basket, "C001", "{C001}", 1), "cabinet"},
		{"cabinet is the fleet", strings.Replace(basket, "C001", "*", 1), "cabinet"},
		{"empty cabinet", strings.Replace(basket, "C001", "", 1), "cabinet"},
		{"empty user", strings.Replace(basket, "u1", "", 1), "user"},
		{"user with markup", strings.Replace(basket, "u1", "<b>", 1), "user"},
		{"id in the body", strings.Replace(basket, "{", `{"id":"x",`, 1), "id"},
		{"byte order mark", "\ufeff" + basket, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.post(t, newID(), c.body)
			p := r.problem(t)
			if r.status != http.StatusBadRequest || p.Code != "invalid_request" || p.Retryable {
				t.Fatalf("HTTP %d: %s", r.status, r.body)
			}
			if c.field != "" && (len(p.Errors) != 1 || p.Errors[0].Field != c.field || !strings.Contains(p.Detail, c.field)) {
				t.Errorf("does not name %s: %s", c.field, r.body)
			}
		})
	}
	units, err := s.ledger.Sellable(t.Context(), "C001")
	check(t, err)
	if recent, err := s.ledger.Recent(t.Context(), "C001", 1); err != nil || len(recent) != 0 || units["cola"] != 5 {
		t.Errorf("refused requests left something: %v, %v, error %v", recent, units, err)
	}
}

func TestTheKeyIsRequiredAndBounded(t *testing.T) {
	s := open(t, map[string]int64{"cola": 50, "water": 50})
	for _, c := range []struct {
		name   string
		keys   []string
		status int
	}{
		{"none", nil, 400},
		{"two", []string{"a", "b"}, 400},
		{"with a space", []string{"a b"}, 400},
		{"not ASCII", []string{"schlüssel"}, 400},
		{"256 characters", []string{strings.Repeat("k", 256)}, 400},
		{"255 characters", []string{strings.Repeat("k", 255)}, 201},
		{"one character", []string{"~"}, 201},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := []string{"Content-Type", "application/json"}
			for _, k := range c.keys {
				h = append(h, "Idempotency-Key", k)
			}
			r := s.send(t, http.MethodPost, "/v1/orders", basket, h...)
			if r.status != c.status {
				t.Fatalf("HTTP %d: %s", r.status, r.body)
			}
			if c.status == 400 {
				if p := r.problem(t); len(p.Errors) != 1 || p.Errors[0].Field != "Idempotency-Key" {
					t.Errorf("does not name the header: %s", r.body)
				}
			}
		})
	}
}

func TestOnlyJSONInUTF8IsTaken(t *testing.T) {
	s := open(t, map[string]int64{"cola": 50, "water": 50})
	for _, c := range []struct {
		kind, encoding string
		status         int
	}{
		{"application/json", "", 201},
		{"application/json; charset=utf-8", "", 201},
		{"Application/JSON;charset=UTF-8", "identity", 201},
		{"", "", 415},
		{"text/plain", "", 415},
		{"application/x-www-form-urlencoded", "", 415},
		{"application/jsonp", "", 415},
		{"application/json; charset=latin1", "", 415},
		{"application/json", "gzip", 415},
		{"application/json; =", "", 415},
	} {
		r := s.send(t, http.MethodPost, "/v1/orders", basket, "Idempotency-Key", newID(), "Content-Type", c.kind, "Content-Encoding", c.encoding)
		if r.status != c.status {
			t.Errorf("%q %q: HTTP %d: %s", c.kind, c.encoding, r.status, r.body)
		}
		if c.status == 415 && r.problem(t).Code != "unsupported_media_type" {
			t.Errorf("%q: %s", c.kind, r.body)
		}
	}
}

// endless is a body without a Content-Length.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.n += len(p)
	return len(p), nil
}

func TestABodyOverTheLimitIsRefusedWithoutReadingItAll(t *testing.T) {
	s := open(t, map[string]int64{"cola": 5})
	big := strings.Repeat(" ", 64<<10) + basket
	if r := s.post(t, newID(), big); r.status != 413 || r.problem(t).Code != "too_large" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	e := &endless{}
	req := httptest.NewRequest(http.MethodPost, "/v1/orders", e)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, req)
	if w.Code != 413 || e.n > 2*wire.MaxMessage {
		t.Errorf("HTTP %d after %d bytes", w.Code, e.n)
	}
}
