package failover

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const ms = time.Millisecond

func TestHistoriesThatAShelfCanHaveAndCannot(t *testing.T) {
	take := func(units int, from, to time.Duration, yes bool) Op {
		return Op{Kind: Take, Units: units, Called: from, Back: to, Yes: yes}
	}
	give := func(units int, from, to time.Duration) Op {
		return Op{Kind: Give, Units: units, Called: from, Back: to, Yes: true}
	}
	doubted := take(1, 3*ms, 4*ms, false)
	doubted.Doubted = true
	lost := take(2, 0, 0, false)
	lost.Unknown = true
	for name, c := range map[string]struct {
		ops  []Op
		want porcupine.CheckResult
	}{
		"two of three, then one":                 {[]Op{take(2, 0, ms, true), take(1, 2*ms, 3*ms, true)}, porcupine.Ok},
		"two of three, then two":                 {[]Op{take(2, 0, ms, true), take(2, 2*ms, 3*ms, true)}, porcupine.Illegal},
		"refused what is there":                  {[]Op{take(2, 0, ms, true), take(1, 2*ms, 3*ms, false)}, porcupine.Illegal},
		"refused during a failover":              {[]Op{take(2, 0, ms, true), doubted}, porcupine.Ok},
		"sold again after it came back":          {[]Op{take(3, 0, ms, true), give(3, 2*ms, 3*ms), take(3, 10*ms, 11*ms, true)}, porcupine.Ok},
		"sold again before anybody gave it back": {[]Op{take(3, 0, ms, true), take(3, 2*ms, 3*ms, true), give(3, 4*ms, 5*ms)}, porcupine.Illegal},
		"a release that is still on its way":     {[]Op{take(3, 0, ms, true), give(3, 2*ms, 3*ms), take(3, 4*ms, 5*ms, false)}, porcupine.Ok},
		"an order nobody was told of":            {[]Op{lost, take(3, 5*ms, 6*ms, true)}, porcupine.Ok},
		"… which either happened or did not":     {[]Op{lost, take(2, 5*ms, 6*ms, true), take(2, 7*ms, 8*ms, true)}, porcupine.Illegal},
	} {
		if got := Check(c.ops, 3, 5*ms, time.Minute); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
