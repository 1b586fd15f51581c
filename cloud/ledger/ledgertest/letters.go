package ledgertest

import (
	"strings"
	"testing"
)

func letters() []promise {
	return []promise{
		{"a dead letter keeps message, reason and origin", letterKept},
		{"any bytes can be buried: none, binary, with any reason", letterAnything},
	}
}

func letterKept(t *testing.T, f *Fixture) {
	f.ok(f.Bury(f.ctx, "queue", "not JSON", []byte("{"), map[string]string{"topic": "StockTopic"}))
	got, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(got) != 1 || got[0].Source != "queue" || got[0].Reason != "not JSON" || string(got[0].Payload) != "{" || got[0].Meta["topic"] != "StockTopic" || !got[0].BuriedAt.Equal(f.Now()) {
		t.Errorf("got %+v", got)
	}
	if n, err := f.CountLetters(f.ctx); err != nil || n != 1 {
		t.Errorf("%d letters, %v", n, err)
	}
}

func letterAnything(t *testing.T, f *Fixture) {
	for _, c := range []struct {
		reason  string
		payload []byte
	}{
		{"empty", nil},
		{"", []byte{}},
		{"binary", []byte{0, 0xff, 0xfe, '\'', '\\'}},
		{strings.Repeat("ü", 400), []byte("x")},
		{"a\xffb", []byte("x")},
		{strings.Repeat("x", 254) + "☃", []byte("x")},
	} {
		if err := f.Bury(f.ctx, "queue", c.reason, c.payload, nil); err != nil {
			t.Errorf("%.20q, %q: %v", c.reason, c.payload, err)
			continue
		}
	}
	got, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(got) != 6 {
		t.Errorf("%d letters", len(got))
	}
}
