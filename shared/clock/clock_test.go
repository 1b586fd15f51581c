package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheClockFollowsItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "offset")
	set := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("")
	now, err := Off(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{0, 24 * time.Hour, -time.Hour, 0} {
		set(by.String() + "\n")
		for off := time.Duration(1 << 62); off < by-time.Minute || off > by+time.Minute; { // the test's time limit is the deadline
			off = time.Until(now())
		}
	}
}

func TestAHalfWrittenFileChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "offset")
	if err := os.WriteFile(file, []byte("1h"), 0o600); err != nil {
		t.Fatal(err)
	}
	now, err := Off(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("-"), 0o600); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 2*every; {
		if off := time.Until(now()); off < 59*time.Minute {
			t.Fatalf("the clock is off by %s", off)
		}
	}
}

func TestWithoutTheVariableItIsTheMachinesClock(t *testing.T) {
	t.Setenv(Env, "")
	now, err := System()
	if err != nil || time.Until(now()) > 0 {
		t.Errorf("%v", err)
	}
	t.Setenv(Env, filepath.Join(t.TempDir(), "missing"))
	if _, err := System(); err == nil {
		t.Error("a file that is missing must stop the start, not set the clock right in silence")
	}
}
