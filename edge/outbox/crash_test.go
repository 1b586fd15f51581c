package outbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// child runs what a test asked this binary for, if it is such a child.
func child() (code int, isChild bool) {
	if path := os.Getenv("OUTBOX_TEST_CHECK"); path != "" {
		return CheckMain(path, func(s string) { fmt.Fprintln(os.Stderr, s) }), true
	}
	dir := os.Getenv("OUTBOX_TEST_DIR")
	if dir == "" {
		return 0, false
	}
	if os.Getenv("OUTBOX_TEST_DIE") == "busy" {
		_ = busy(dir)
		return 3, true
	}
	if err := live(dir, os.Getenv("OUTBOX_TEST_DIE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3, true
	}
	return 0, true
}

// live is an outbox's whole life, which ends at die: "step/before/2" is right
// before that step happens for the second time. It says what was promised.
func live(dir, die string) error {
	var hits atomic.Int64
	o, err := Open(context.Background(), Options{Dir: dir, Cabinet: "C001", History: 5, Hook: func(s Step, after bool) error {
		at := "before"
		if after {
			at = "after"
		}
		if step, count, _ := strings.Cut(die, "#"); step == string(s)+"/"+at && strconv.FormatInt(hits.Add(1), 10) == count {
			p, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			_ = p.Kill()
			select {} // SIGKILL needs a moment; nothing more must happen
		}
		return nil
	}})
	if err != nil {
		return err
	}
	note("epoch %s", o.Epoch())
	for n := 1; n <= 20; n++ {
		if _, err := o.Append(context.Background(), orderEntry(id(n), 1)); err != nil {
			return err
		}
		note("appended %d", n)
		if n%2 == 0 {
			if err := o.Settle(context.Background(), []Answer{accepted(int64(n), id(n))}); err != nil {
				return err
			}
			note("settled %d", n)
		}
	}
	if err := o.compact(); err != nil {
		return err
	}
	note("compacted")
	return o.Close()
}

// run starts the child and returns the lines it said before it ended.
func run(t *testing.T, dir, die string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OUTBOX_TEST_DIR="+dir, "OUTBOX_TEST_DIE="+die)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if die != "" && err == nil {
		t.Fatalf("the child never reached %s", die)
	}
	if err != nil && cmd.ProcessState.ExitCode() == 3 {
		t.Fatal("the child failed")
	}
	return strings.Fields(strings.ReplaceAll(string(out), "\n", " "))
}

// promises reads what a child said into the ids that were appended and settled.
func promises(said []string) (appended, settled []int) {
	for i, word := range said {
		switch word {
		case "appended":
			n, _ := strconv.Atoi(said[i+1])
			appended = append(appended, n)
		case "settled":
			n, _ := strconv.Atoi(said[i+1])
			settled = append(settled, n)
		}
	}
	return appended, settled
}

// kept fails t unless all that was promised is in dir.
func kept(t *testing.T, dir string, appended, settled []int) {
	t.Helper()
	o := open(t, Options{Dir: dir, History: 5})
	defer closeBox(t, o)
	sound(t, o)
	isSettled := make(map[int]bool)
	for _, n := range settled {
		isSettled[n] = true
	}
	waiting := make(map[string]int64)
	for _, r := range pending(t, o) {
		waiting[r.ID] = r.Seq
	}
	for _, n := range appended {
		seq, waits := waiting[id(n)]
		if waits && (seq != int64(n) || isSettled[n]) || !waits && !isSettled[n] && n%2 == 1 {
			t.Errorf("event %d was promised: waiting %v as %d, settled %v", n, waits, seq, isSettled[n])
		}
	}
	for _, n := range settled[max(0, len(settled)-4):] {
		if f, err := o.Lookup(id(n)); err != nil || !f.Settled {
			t.Errorf("answer %d was stored: %+v, %v", n, f, err)
		}
	}
	depth := o.Depth()
	for _, n := range appended {
		if _, waits := waiting[id(n)]; waits {
			if r := appendOrder(t, o, id(n), 1); r.Seq != int64(n) || o.Depth() != depth {
				t.Errorf("event %d asked again got %+v, depth %d → %d", n, r, depth, o.Depth())
			}
		}
	}
}

func TestAPowerCutAtAnyDurableStepBreaksNoPromise(t *testing.T) {
	for _, die := range []string{
		"create/before#1", "create/after#1",
		"commit/before#1", "commit/after#1", // the first append
		"commit/before#3", "commit/after#3", // the first settle
		"commit/before#18", "commit/after#18", // a settle that forgets an old answer
		"compact/before#1", "compact/after#1",
	} {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			appended, settled := promises(run(t, dir, die))
			kept(t, dir, appended, settled)
			kept(t, dir, appended, settled) // and what opening did is sound too
		})
	}
}

func TestAPowerCutWhileSettingAsideKeepsTheDamagedFile(t *testing.T) {
	for _, die := range []string{"quarantine/before#1", "quarantine/after#1", "create/before#1", "create/after#1"} {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			o := open(t, Options{Dir: dir})
			old := o.Epoch()
			closeBox(t, o)
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
			run(t, dir, die)
			o = open(t, Options{Dir: dir})
			sound(t, o)
			if !o.Gap() || o.Epoch() == old || len(damagedFiles(t, dir)) != 1 {
				t.Fatalf("gap %v, new epoch %v, kept %v", o.Gap(), o.Epoch() != old, damagedFiles(t, dir))
			}
		})
	}
}

func TestAPowerCutWhileMigratingLosesNoRow(t *testing.T) {
	for _, die := range []string{"migrate/before#1", "migrate/after#1", "migrate/before#2", "migrate/after#2"} {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeSchema0(t, dir, 700)
			run(t, dir, die)
			o := open(t, Options{Dir: dir})
			sound(t, o)
			if rows := pending(t, o); len(rows) != 700 || o.Depth() != 700 {
				t.Fatalf("%d rows, depth %d", len(rows), o.Depth())
			}
		})
	}
}

// TestKillAtRandomMomentsLosesNothing kills a busy child again and again, over
// the same file.
func TestKillAtRandomMomentsLosesNothing(t *testing.T) {
	dir := t.TempDir()
	promised := make(map[string]bool)
	for round := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "OUTBOX_TEST_DIR="+dir, "OUTBOX_TEST_DIE=busy")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		heard := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "kept "); ok {
				promised[id] = true
				if heard++; heard == 150+37*round {
					_ = cmd.Process.Kill() // and read on: what was said before it died was promised
				}
			}
		}
		_ = cmd.Wait()
		o := open(t, Options{Dir: dir})
		sound(t, o)
		for id := range promised {
			if _, err := o.Lookup(id); err != nil {
				t.Fatalf("round %d: %s was promised: %v", round, id, err)
			}
		}
		if o.Gap() {
			t.Fatal("a kill is no damage")
		}
		closeBox(t, o)
	}
}

// busy appends from many goroutines and settles behind them, until it is killed.
func busy(dir string) error {
	o, err := Open(context.Background(), Options{Dir: dir, Cabinet: "C001"})
	if err != nil {
		return err
	}
	var said sync.Mutex
	for w := range 8 {
		go func() {
			for {
				id, err := o.opt.Mint.V7()
				if err != nil {
					return
				}
				r, err := o.Append(context.Background(), orderEntry(id, 1+w))
				if err != nil {
					return
				}
				said.Lock()
				note("kept %s", id)
				said.Unlock()
				if r.Seq%3 == 0 {
					_ = o.Settle(context.Background(), []Answer{accepted(r.Seq, id)})
				}
			}
		}()
	}
	select {}
}
