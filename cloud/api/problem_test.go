package api

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// codes reads every refusal that package wire declares.
func codes(t *testing.T) []wire.Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../shared/wire/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []wire.Code
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Code") {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, wire.Code(text))
		}
		return true
	})
	return out
}

func TestEveryCodeHasOneRow(t *testing.T) {
	rows := map[wire.Code]int{}
	for _, r := range table {
		rows[r.code]++
		if r.status < 400 || r.title == "" {
			t.Errorf("%s: status %d, title %q", r.code, r.status, r.title)
		}
		if r.code.Retryable() != (r.status >= 500) {
			t.Errorf("%s: retryable is %v, status %d", r.code, r.code.Retryable(), r.status)
		}
	}
	all := codes(t)
	if len(all) < 16 {
		t.Fatalf("only %d codes found in package wire", len(all))
	}
	for _, c := range append(all, codeMethod, codeMediaType, codeOrigin) {
		if rows[c] != 1 {
			t.Errorf("%s has %d rows", c, rows[c])
		}
	}
}

func TestErrorsMeanWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   wire.Code
		status int
		known  bool
	}{
		{&wire.FieldError{Path: "a", Problem: "is bad"}, wire.CodeInvalidRequest, 400, true},
		{wrap(wire.ErrTooLarge), wire.CodeTooLarge, 413, true},
		{wrap(order.ErrUnknown), wire.CodeOrderUnknown, 404, true},
		{wrap(order.ErrNotLoaded), wire.CodeFenced, 503, true},
		{wrap(&order.StateError{Order: order.Order{Status: order.Consumed}}), wire.CodeOrderState, 409, true},
		{wrap(&order.Refusal{Code: wire.CodeFenced}), wire.CodeFenced, 503, true},
		{&order.Refusal{Code: wire.CodeInternal}, wire.CodeInternal, 500, false},
		{&order.Refusal{Code: "new_code"}, wire.CodeInternal, 500, false},
		{errors.New("dial tcp: secret"), wire.CodeUnavailable, 503, false},
	} {
		p, known := problemOf(c.err)
		if p.Code != c.code || p.Status != c.status || known != c.known {
			t.Errorf("%v: %s %d, known %v", c.err, p.Code, p.Status, known)
		}
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("the caller is told about our insides: %s", p.Detail)
		}
		w := httptest.NewRecorder()
		p.write(w, "r1")
		if (w.Header().Get("Retry-After") != "") != (c.status == 503) {
			t.Errorf("%s: Retry-After %q", p.Code, w.Header().Get("Retry-After"))
		}
	}
}

func wrap(err error) error { return errors.Join(errors.New("step"), err) }
