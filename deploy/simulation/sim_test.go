package simulation

import (
	"testing"
)

// The same seed is the same history, to the byte.
func TestASeedIsAHistory(t *testing.T) {
	for seed := range uint64(24) {
		first, err := Run(seed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(seed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if first.Hash != again.Hash {
			t.Errorf("seed %d told two histories: %s and %s", seed, first.Hash, again.Hash)
		}
	}
}
