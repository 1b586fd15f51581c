package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const good = `{"v":1,"id":"` + goldenID + `","cabinet":"C001","epoch":"` + goldenEpoch + `","seq":1,"at":5,` +
	`"order":{"user":"u1","lines":[{"sku":"cola","qty":2}]}}`

// TestWhatTwoReadersCouldReadDifferentlyIsRefused: each row is JSON, or nearly,
// that lenient decoders accept, and each says where it is wrong.
func TestWhatTwoReadersCouldReadDifferentlyIsRefused(t *testing.T) {
	qty := func(v string) string { return strings.Replace(good, `"qty":2`, `"qty":`+v, 1) }
	for name, c := range map[string]struct{ in, path string }{
		"quantity as a string":     {qty(`"2"`), "order.lines[0].qty"},
		"null quantity":            {qty(`null`), "order.lines[0].qty"},
		"fraction":                 {qty(`2.0`), "order.lines[0].qty"},
		"exponent":                 {qty(`2e0`), "order.lines[0].qty"},
		"leading zero":             {qty(`02`), ""},
		"plus sign":                {qty(`+2`), ""},
		"minus zero point":         {qty(`-0.5`), "order.lines[0].qty"},
		"over int64":               {qty(`9223372036854775808`), "order.lines[0].qty"},
		"true for a number":        {qty(`true`), "order.lines[0].qty"},
		"key twice":                {qty(`1,"qty":9`), "order.lines[0].qty"},
		"key twice, once escaped":  {qty(`1,"\u0071ty":9`), "order.lines[0].qty"},
		"key in another case":      {strings.Replace(good, `"qty"`, `"QTY"`, 1), "order.lines[0].QTY"},
		"key with a Kelvin sign":   {strings.Replace(good, `"sku"`, `"s`+"\u212a"+`u"`, 1), "order.lines[0].s\u212au"},
		"unknown field":            {strings.Replace(good, `"v":1`, `"v":1,"price":1`, 1), "price"},
		"byte 0xff in a SKU":       {strings.Replace(good, `cola`, "co\xffla", 1), ""},
		"overlong encoding":        {strings.Replace(good, `cola`, "co\xc0\xafla", 1), ""},
		"lone surrogate bytes":     {strings.Replace(good, `cola`, "co\xed\xa0\x80la", 1), ""},
		"raw control character":    {strings.Replace(good, `cola`, "co\nla", 1), ""},
		"a second value":           {good + `{}`, ""},
		"trailing braces":          {good + `}{`, ""},
		"trailing NUL":             {good + "\x00", ""},
		"byte order mark":          {"\xef\xbb\xbf" + good, ""},
		"comment":                  {strings.Replace(good, `"v":1`, `/* one */"v":1`, 1), ""},
		"trailing comma in object": {strings.Replace(good, `"qty":2}`, `"qty":2,}`, 1), ""},
		"trailing comma in array":  {strings.Replace(good, `2}]`, `2},]`, 1), ""},
		"missing comma":            {strings.Replace(good, `"v":1,`, `"v":1 `, 1), ""},
		"single quotes":            {strings.ReplaceAll(good, `"`, `'`), ""},
		"null lines":               {strings.Replace(good, `[{"sku":"cola","qty":2}]`, `null`, 1), "order.lines"},
		"null order":               {good[:strings.Index(good, `{"user`)] + `null}`, "order"},
		"lines as an object":       {strings.Replace(good, `[{"sku":"cola","qty":2}]`, `{"0":{}}`, 1), "order.lines"},
		"a line as an array":       {strings.Replace(good, `{"sku":"cola","qty":2}`, `[]`, 1), "order.lines[0]"},
		"NaN":                      {qty(`NaN`), ""},
		"cut short":                {good[:len(good)-1], ""},
		"nothing":                  {"", ""},
		"only space":               {" \n", ""},
		"an array":                 {"[" + good + "]", ""},
		"null":                     {"null", ""},
		"bad escape":               {strings.Replace(good, `cola`, `co\xla`, 1), ""},
		"half an escape":           {strings.Replace(good, `cola`, `co\u12`, 1), ""},
	} {
		var e Event
		err := Decode([]byte(c.in), MaxMessage, &e)
		var field *FieldError
		if !errors.As(err, &field) {
			t.Errorf("%s: %v from %s", name, err, c.in)
			continue
		}
		if c.path != "" && field.Path != c.path {
			t.Errorf("%s: blames %q, want %q", name, field.Path, c.path)
		}
	}
}

func TestWhatIsPlainIsRead(t *testing.T) {
	for name, in := range map[string]string{
		"as it is":          good,
		"with space around": " \t\r\n" + strings.ReplaceAll(good, ":", " : ") + "\n",
		"escapes":           strings.Replace(good, `"cola"`, `"\u0063ol\u0061"`, 1),
	} {
		e, err := DecodeEvent([]byte(in), "C001", ChannelOrder)
		if err != nil || e.Order.Lines[0] != (Line{SKU: "cola", Qty: 2}) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestABasketOutOfBoundsNamesTheLine(t *testing.T) {
	with := func(lines string) string {
		return strings.Replace(good, `[{"sku":"cola","qty":2}]`, lines, 1)
	}
	for in, path := range map[string]string{
		`[]`:                                          "lines",
		`[{"sku":"cola","qty":-5}]`:                   "lines[0].qty",
		`[{"sku":"cola","qty":0}]`:                    "lines[0].qty",
		`[{"sku":"a","qty":1},{"sku":"b"}]`:           "lines[1].qty",
		`[{"sku":"cola","qty":1000}]`:                 "lines[0].qty",
		`[{"sku":"c","qty":9007199254740993}]`:        "lines[0].qty",
		`[{"sku":"#gen","qty":1}]`:                    "lines[0].sku",
		`[{"sku":"","qty":1}]`:                        "lines[0].sku",
		`[{"qty":1}]`:                                 "lines[0].sku",
		`[{"sku":"a","qty":999},{"sku":"a","qty":1}]`: "lines[1].qty",
	} {
		_, err := DecodeEvent([]byte(with(in)), "C001", ChannelOrder)
		var field *FieldError
		if !errors.As(err, &field) || field.Path != path {
			t.Errorf("%s: %v, want %s", in, err, path)
		}
	}
}

func TestAnEnvelopeMustMatchItsTopic(t *testing.T) {
	for name, c := range map[string]struct {
		in      string
		cabinet string
		channel Channel
	}{
		"another version":   {strings.Replace(good, `"v":1`, `"v":2`, 1), "C001", ChannelOrder},
		"another cabinet":   {good, "C002", ChannelOrder},
		"another channel":   {good, "C001", ChannelFact},
		"upper-case id":     {strings.Replace(good, goldenID, strings.ToUpper(goldenID), 1), "C001", ChannelOrder},
		"seq zero":          {strings.Replace(good, `"seq":1`, `"seq":0`, 1), "C001", ChannelOrder},
		"two bodies":        {strings.Replace(good, `"order"`, `"fact":{"kind":"sale","lines":[]},"order"`, 1), "C001", ChannelOrder},
		"user with a space": {strings.Replace(good, `u1`, `u 1`, 1), "C001", ChannelOrder},
	} {
		if e, err := DecodeEvent([]byte(c.in), c.cabinet, c.channel); err == nil {
			t.Errorf("%s: read as %+v", name, e)
		}
	}
}

func TestTooLargeIsSaidBeforeAnythingIsRead(t *testing.T) {
	var e Event
	if err := Decode(bytes.Repeat([]byte("x"), 11), 10, &e); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
}

func TestAWildcardIsNoIdentity(t *testing.T) {
	for _, c := range []string{"", "+", "#", "a/b", "a b", "ä", strings.Repeat("a", 33), "a\x00"} {
		if ValidCabinet(c) {
			t.Errorf("%q may name a cabinet", c)
		}
		if _, _, ok := ParseTopic("vend/v1/" + c + "/order"); ok {
			t.Errorf("%q may be a topic's cabinet", c)
		}
	}
}

// FuzzDecode holds the decoder against the standard library's: what it accepts
// means the same to both, and is written and read back as the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	for _, m := range goldens() {
		f.Add(Encode(m))
	}
	f.Add([]byte(`{"v":1,"order":{"lines":[{"sku":"\ud83d\ude00\ud800","qty":-0}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, lenient Event
		if err := Decode(data, MaxMessage, &strict); err != nil {
			var field *FieldError
			if !errors.As(err, &field) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if err := json.Unmarshal(data, &lenient); err != nil {
			t.Fatalf("accepts what encoding/json refuses: %v", err)
		}
		if !bytes.Equal(Encode(strict), Encode(lenient)) {
			t.Fatalf("reads %s, encoding/json reads %s", Encode(strict), Encode(lenient))
		}
		var again Event
		if err := Decode(Encode(strict), MaxMessage*8, &again); err != nil || !bytes.Equal(Encode(again), Encode(strict)) {
			t.Fatalf("does not read its own writing: %v", err)
		}
		if reflect.DeepEqual(strict, Event{}) && len(bytes.TrimSpace(data)) < 2 {
			t.Fatalf("made an event of %q", data)
		}
	})
}
