package intake_test

import (
	"context"
	"testing"
	"time"

	"vendline/cloud/intake"
)

// BenchmarkOrders sends orders through one intake to a shop that takes 5 ms for
// each, many at once, and waits for all verdicts. The cabinets keep 64 events
// each under way.
func BenchmarkOrders(b *testing.B) {
	for name, site := range map[string]func(testing.TB) site{"mochi": embedded, "mosquitto": mosquitto} {
		b.Run(name, func(b *testing.B) {
			s := site(b)
			shop := newShop()
			shop.before = func(context.Context, string) error { time.Sleep(5 * time.Millisecond); return nil }
			in := s.intake(b, "intake-1", shop, func(*intake.Options) {})
			var cabinets []*cabinet
			for i := range s.names {
				cabinets = append(cabinets, s.cabinet(b, i, nil))
			}
			b.ResetTimer()
			for i := 0; i < b.N; {
				for _, c := range cabinets {
					c.wait("room", func() bool { return len(c.waiting) < 64 })
					for range 16 {
						c.keep(c.order("cola", 1))
						i++
					}
				}
			}
			for _, c := range cabinets {
				c.settled()
			}
			b.StopTimer()
			b.ReportMetric(float64(in.Counts().Accepted)/b.Elapsed().Seconds(), "orders/s")
		})
	}
}
