package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
func Decode(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), limit)
	}
	if !utf8.Valid(data) {
		return &FieldError{Problem: "is not valid UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	r := reader{d}
	if err := r.value("", reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &FieldError{Problem: "has something after the JSON value"}
	}
	return nil
}

type reader struct{ d *json.Decoder }

func (r reader) next(path string) (json.Token, error) {
	t, err := r.d.Token()
	if err != nil {
		return nil, &FieldError{Path: path, Problem: "is not valid JSON"}
	}
	return t, nil
}

func (r reader) value(path string, v reflect.Value) error {
	t, err := r.next(path)
	if err != nil {
		return err
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if t != json.Delim('{') {
			return &FieldError{Path: path, Problem: "must be an object"}
		}
		return r.object(path, v)
	case reflect.Slice:
		if t != json.Delim('[') {
			return &FieldError{Path: path, Problem: "must be an array"}
		}
		return r.array(path, v)
	case reflect.String:
		s, ok := t.(string)
		if !ok {
			return &FieldError{Path: path, Problem: "must be a string"}
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := t.(bool)
		if !ok {
			return &FieldError{Path: path, Problem: "must be true or false"}
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, ok := t.(json.Number)
		if !ok {
			return &FieldError{Path: path, Problem: "must be an integer"}
		}
		i, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil {
			return &FieldError{Path: path, Problem: "must be an integer"}
		}
		v.SetInt(i)
	default:
		return fmt.Errorf("wire: type %s is not decodable", v.Type())
	}
	return nil
}

func (r reader) object(path string, v reflect.Value) error {
	fields := fieldsOf(v.Type())
	var seen uint64
	for r.d.More() {
		t, err := r.next(path)
		if err != nil {
			return err
		}
		name, _ := t.(string)
		at := name
		if path != "" {
			at = path + "." + name
		}
		i, ok := fields[name]
		if !ok {
			return &FieldError{Path: at, Problem: "is not a known field"}
		}
		if seen&(1<<i) != 0 {
			return &FieldError{Path: at, Problem: "appears twice"}
		}
		seen |= 1 << i
		if err := r.value(at, v.Field(i)); err != nil {
			return err
		}
	}
	_, err := r.next(path)
	return err
}

func (r reader) array(path string, v reflect.Value) error {
	for i := 0; r.d.More(); i++ {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := r.value(path+"["+strconv.Itoa(i)+"]", item); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	_, err := r.next(path)
	return err
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
