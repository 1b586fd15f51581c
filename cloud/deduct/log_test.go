package deduct

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestTheLibraryRepeatsItselfOnlyNowAndThen(t *testing.T) {
	var out bytes.Buffer
	now := time.UnixMilli(0)
	l := newLibraryLog(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	for range 300 { // half a minute of ten a second
		l.Printf(t.Context(), "failed to dial after %d attempts: %v", 1, "refused")
		l.Printf(t.Context(), "something else")
		now = now.Add(100 * time.Millisecond)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "redis client: failed to dial after 1 attempts: refused") {
		t.Errorf("told\n%s", got)
	}
	out.Reset()
	l.Printf(t.Context(), "failed to dial after %d attempts: %v", 1, "refused")
	if got := out.String(); !strings.Contains(got, "untold=299") {
		t.Errorf("told\n%s", got)
	}
}
