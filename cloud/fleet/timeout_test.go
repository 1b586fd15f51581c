package fleet_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"vendline/cloud/fleet"
)

// A stream has no end of its own, so the server's timeouts must not give it one.
func TestAStreamOutlivesTheTimeoutsOfOrdinaryAnswers(t *testing.T) {
	s := start(t, func(o *fleet.Options) { o.Beat = 50 * time.Millisecond })
	slow := httptest.NewUnstartedServer(s.Config.Handler)
	slow.Config.ReadTimeout, slow.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	slow.Start()
	t.Cleanup(slow.Close)
	r := (&site{Server: slow}).watch(t)
	for range 10 { // half a second of them
		r.until(t, func(e event) bool { return e.name == "beat" })
	}
	r.close()
}
