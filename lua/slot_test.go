package lua

import "testing"

// The first two are of Redis' cluster specification; the others were asked of a
// redis-server (CLUSTER KEYSLOT).
func TestSlotsAreRedisOwn(t *testing.T) {
	for cabinet, want := range map[string]int{"123456789": 0x31c3, "": 0, "C001": 4866, "D002": 12876} {
		if got := Slot(cabinet); got != want {
			t.Errorf("%q is in slot %d, want %d", cabinet, got, want)
		}
	}
}
