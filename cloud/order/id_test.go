package order_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

func TestAnyKeyIsOneValidIDAndTheSameOneEachTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		id := order.IDFromKey(key)
		if !wire.ValidID(id) || id != order.IDFromKey(key) {
			t.Fatalf("%q becomes %q", key, id)
		}
		if !wire.ValidID(strings.ToLower(key)) && (id[14] != '8' || !strings.ContainsRune("89ab", rune(id[19]))) {
			t.Fatalf("%q becomes %q, which is no UUIDv8", key, id)
		}
		other := rapid.String().Draw(t, "other")
		if !strings.EqualFold(other, key) && order.IDFromKey(other) == id {
			t.Fatalf("%q and %q share %q", key, other, id)
		}
	})
}

func TestAUUIDStandsForItselfInEitherCase(t *testing.T) {
	if got := order.IDFromKey(strings.ToUpper(freshID)); got != freshID {
		t.Errorf("got %s", got)
	}
}

func TestTheTimeOfAUUIDv7IsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<48-1).Draw(t, "ms")
		id := fmt.Sprintf("%08x-%04x-7abc-8def-%012x", ms>>16, ms&0xffff, 7)
		at, ok := order.MintedAt(id)
		if !ok || !at.Equal(time.UnixMilli(ms)) {
			t.Fatalf("%s was minted at %v, %v", id, at, ok)
		}
	})
	for _, id := range []string{"", "x", order.IDFromKey("hello"), "01a3185c-5078-4000-8000-000000000001"} {
		if _, ok := order.MintedAt(id); ok {
			t.Errorf("%q tells a time", id)
		}
	}
}
