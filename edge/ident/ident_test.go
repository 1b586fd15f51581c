package ident

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"vendline/shared/wire"
)

func TestIdsAreValidWhateverTheClockSays(t *testing.T) {
	for _, at := range []time.Time{time.Unix(-1e9, 0), time.Unix(0, 0), time.Now(), time.Unix(1<<40, 0)} {
		m := New(func() time.Time { return at }, nil)
		seen := make(map[string]bool)
		for range 1000 {
			id, err := m.V7()
			if err != nil || !wire.ValidID(id) || id[14] != '7' || seen[id] {
				t.Fatalf("at %v: %q, %v, seen %v", at, id, err, seen[id])
			}
			seen[id] = true
		}
	}
}

func TestLaterIdsSortLater(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	m := New(func() time.Time { return now }, nil)
	a, _ := m.V7()
	now = now.Add(time.Millisecond)
	b, _ := m.V7()
	if a >= b {
		t.Fatalf("%s, then %s", a, b)
	}
}

func TestTheSameKeyOfTheSameCabinetIsTheSameID(t *testing.T) {
	a := FromKey("C001", "k")
	if !wire.ValidID(a) || a != FromKey("C001", "k") || a == FromKey("C002", "k") || a == FromKey("C001", "l") {
		t.Fatal(a)
	}
}

func TestNoIDIsMintedWithoutRandomness(t *testing.T) {
	if id, err := New(nil, bytes.NewReader(nil)).V7(); err == nil {
		t.Fatal(id)
	}
}

func TestParseReadsWhatFormatWrites(t *testing.T) {
	id, err := New(nil, nil).V4()
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := Parse(id); !ok || Format(b) != id {
		t.Fatal(id)
	}
	for _, bad := range []string{"", id[:35], strings.ToUpper("a" + id[1:]), strings.Replace(id, "-", "x", 1), "g" + id[1:]} {
		if _, ok := Parse(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
