package stack

import (
	"strings"
	"testing"
	"time"

	"vendline/cloud/deduct"
)

// Both kinds of many servers start, serve, survive their master, and take it back.
func TestAMasterFailsOverAndComesBack(t *testing.T) {
	if testing.Short() {
		return
	}
	for name, o := range map[string]Options{"cluster": {RedisCluster: true}, "sentinels": {RedisSentinel: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Own(t, o)
			d, err := s.Description()
			if err != nil {
				t.Fatal(err)
			}
			c, err := deduct.Open(t.Context(), d.StockURL, deduct.Servers{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			master, err := s.Master(t.Context(), "C001")
			if err != nil {
				t.Fatal(err)
			}
			if err := master.Kill(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for c.Set(t.Context(), "stock:{C001}", "x", 0).Err() != nil {
				if time.Since(began) > time.Minute {
					t.Fatal("nobody takes over")
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Logf("served again after %.1f s", time.Since(began).Seconds())
			next, err := s.Master(t.Context(), "C001")
			if err != nil || next == master {
				t.Fatalf("the master is still %v, %v", next, err)
			}
			if err := master.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for role := ""; !strings.Contains(role, "role:slave"); time.Sleep(20 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("the old master does not follow: %s", role)
				}
				role = direct(master.Addr()).Info(t.Context(), "replication").String()
			}
		})
	}
}
