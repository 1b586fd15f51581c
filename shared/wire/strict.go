package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// FieldError says which part of a message is wrong, in words for its sender.
type FieldError struct {
	Path    string // "lines[1].qty"; empty for the message as a whole
	Problem string
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + " " + e.Problem
}

// ErrTooLarge is wrapped by Decode's error for data over the limit.
var ErrTooLarge = errors.New("message too large")

// Decode reads exactly one JSON value of at most limit bytes into the struct
// that v points to. It is strict where encoding/json is lenient, because two
// readers that disagree about one message are a security hole: field names
// match by exact case and appear once, unknown names, null, invalid UTF-8,
// fractions for integers and anything after the value are refused. Errors are
// *FieldError (with the path), or wrap ErrTooLarge.
//
// It reads the bytes itself: every order passes here, and the standard
// decoder's token stream costs several times as much.
func Decode(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), limit)
	}
	if !utf8.Valid(data) {
		return &FieldError{Problem: "is not valid UTF-8"}
	}
	r := reader{b: data, path: make([]step, 0, 8)}
	if err := r.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if r.space(); r.i < len(r.b) {
		return &FieldError{Problem: "has something after the JSON value"}
	}
	return nil
}

// reader walks the bytes once, guided by the type it fills. Its depth is the
// type's, so no input can make it recurse further.
type reader struct {
	b    []byte
	i    int
	path []step // where we are, rendered only into errors
}

// step is a field's name, or an index when the name is empty.
type step struct {
	name  string
	index int
}

func (r *reader) at() string {
	var b strings.Builder
	for _, s := range r.path {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func (r *reader) enter(s step) { r.path = append(r.path, s) }

func (r *reader) leave() { r.path = r.path[:len(r.path)-1] }

func (r *reader) value(v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	r.space()
	switch v.Kind() {
	case reflect.Struct:
		if !r.take('{') {
			return r.wrong("must be an object")
		}
		return r.object(v)
	case reflect.Slice:
		if !r.take('[') {
			return r.wrong("must be an array")
		}
		return r.array(v)
	case reflect.String:
		s, err := r.text("must be a string")
		if err != nil {
			return err
		}
		v.SetString(s)
	case reflect.Bool:
		switch {
		case r.word("true"):
			v.SetBool(true)
		case r.word("false"):
			v.SetBool(false)
		default:
			return r.wrong("must be true or false")
		}
	case reflect.Int, reflect.Int64:
		n, ok := r.integer()
		if !ok {
			return r.wrong("must be an integer")
		}
		v.SetInt(n)
	default:
		return fmt.Errorf("wire: type %s is not decodable", v.Type())
	}
	return nil
}

func (r *reader) object(v reflect.Value) error {
	fields := fieldsOf(v.Type())
	var seen uint64
	for first := true; ; first = false {
		r.space()
		if first && r.take('}') {
			return nil
		}
		name, err := r.text("is not valid JSON")
		if err != nil {
			return err
		}
		r.enter(step{name: name})
		i, ok := fields[name]
		if !ok {
			return &FieldError{Path: r.at(), Problem: "is not a known field"}
		}
		if seen&(1<<i) != 0 {
			return &FieldError{Path: r.at(), Problem: "appears twice"}
		}
		seen |= 1 << i
		if r.space(); !r.take(':') {
			return r.broken()
		}
		if err := r.value(v.Field(i)); err != nil {
			return err
		}
		r.leave()
		r.space()
		if r.take('}') {
			return nil
		}
		if !r.take(',') {
			return r.broken()
		}
	}
}

func (r *reader) array(v reflect.Value) error {
	if r.space(); r.take(']') {
		return nil
	}
	for n := 0; ; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		r.enter(step{index: n})
		if err := r.value(v.Index(n)); err != nil {
			return err
		}
		r.leave()
		r.space()
		if r.take(']') {
			return nil
		}
		if !r.take(',') {
			return r.broken()
		}
	}
}

// text reads a JSON string; otherwise is the problem when there is none.
func (r *reader) text(otherwise string) (string, error) {
	if r.i >= len(r.b) || r.b[r.i] != '"' {
		return "", r.wrong(otherwise)
	}
	escaped := false
	for k := r.i + 1; k < len(r.b); k++ {
		switch c := r.b[k]; {
		case c == '\\':
			escaped = true
			k++
		case c < ' ':
			return "", r.broken()
		case c == '"':
			quoted := r.b[r.i : k+1]
			r.i = k + 1
			if !escaped {
				return string(quoted[1 : len(quoted)-1]), nil
			}
			var s string
			if err := json.Unmarshal(quoted, &s); err != nil {
				return "", r.broken()
			}
			return s, nil
		}
	}
	return "", r.broken()
}

// integer reads -?(0|[1-9][0-9]*) that fits 64 bits and is not the beginning of
// some other number.
func (r *reader) integer() (int64, bool) {
	k := r.i
	if k < len(r.b) && r.b[k] == '-' {
		k++
	}
	from := k
	for k < len(r.b) && r.b[k] >= '0' && r.b[k] <= '9' {
		k++
	}
	if k == from || r.b[from] == '0' && k > from+1 || k < len(r.b) && strings.IndexByte(".eE", r.b[k]) >= 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(r.b[r.i:k]), 10, 64)
	if err != nil {
		return 0, false
	}
	r.i = k
	return n, true
}

func (r *reader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\n' || r.b[r.i] == '\r' || r.b[r.i] == '\t') {
		r.i++
	}
}

func (r *reader) take(c byte) bool {
	if r.i < len(r.b) && r.b[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *reader) word(w string) bool {
	if strings.HasPrefix(string(r.b[r.i:min(len(r.b), r.i+len(w))]), w) {
		r.i += len(w)
		return true
	}
	return false
}

// wrong says that a value of another kind stands here, or nothing at all.
func (r *reader) wrong(problem string) error {
	if r.i >= len(r.b) || strings.IndexByte(`{["-0123456789tfn`, r.b[r.i]) < 0 {
		return r.broken()
	}
	return &FieldError{Path: r.at(), Problem: problem}
}

func (r *reader) broken() error {
	return &FieldError{Path: r.at(), Problem: "is not valid JSON"}
}

var fieldCache sync.Map // reflect.Type → map[string]int; write-once per type

// fieldsOf maps a struct's JSON names to field indexes (fewer than 64).
func fieldsOf(t reflect.Type) map[string]int {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]int)
	}
	m := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			m[name] = i
		}
	}
	fieldCache.Store(t, m)
	return m
}
