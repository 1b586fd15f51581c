// Package powercut ends a test's child process at a durable step of an outbox,
// as a power cut would: without another instruction. The child is the test
// binary itself.
package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"vendline/edge/outbox"
)

const (
	envDir = "VEND_POWERCUT_DIR"
	envDie = "VEND_POWERCUT_DIE"
)

// failed is the exit code of a child that could not live its life.
const failed = 3

// Main lets the test binary be the child, if it was started as one: live is the
// life of an outbox in dir. Call it from TestMain.
func Main(m *testing.M, live func(dir string, hook outbox.Hook) error) {
	dir := os.Getenv(envDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := live(dir, hook(os.Getenv(envDie))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failed)
	}
	os.Exit(0)
}

// Say tells the parent that something was promised.
func Say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// hook ends the process at die: "result/before#2" is right before that step
// happens for the second time.
func hook(die string) outbox.Hook {
	var hits atomic.Int64
	point, count, _ := strings.Cut(die, "#")
	return func(s outbox.Step, after bool) error {
		at := string(s) + "/before"
		if after {
			at = string(s) + "/after"
		}
		if at != point || strconv.FormatInt(hits.Add(1), 10) != count {
			return nil
		}
		p, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		_ = p.Kill()
		select {} // SIGKILL needs a moment; nothing more must happen
	}
}

// Run lives the child's life in dir up to die, or to its end if die is empty,
// and returns the lines it said.
func Run(t testing.TB, dir, die string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envDir+"="+dir, envDie+"="+die)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == failed, err != nil && exit == nil:
		t.Fatalf("the child failed: %v", err)
	case die != "" && err == nil:
		t.Fatalf("the child never reached %s", die)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// Points are before and after every one of the steps.
func Points(steps ...string) (points []string) {
	for _, s := range steps {
		step, count, _ := strings.Cut(s, "#")
		points = append(points, step+"/before#"+count, step+"/after#"+count)
	}
	return points
}
