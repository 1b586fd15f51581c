package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Exit codes of a checking child.
const (
	exitLocked  = 75 // EX_TEMPFAIL
	exitDamaged = 65 // EX_DATAERR
	exitOther   = 74 // EX_IOERR
)

// CheckInChild returns a Check that runs `exe args… path` and believes its exit
// code. The child is expected to end with CheckMain. A child that dies of a
// fault has found damage; one that could not run, or was killed, has found
// nothing, and the file is checked in this process instead.
func CheckInChild(exe string, args ...string) func(context.Context, string) error {
	return func(ctx context.Context, path string) error {
		cmd := exec.CommandContext(ctx, exe, append(args[:len(args):len(args)], path)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &exit), killed(exit):
			return CheckFile(path)
		case exit.ExitCode() == exitLocked:
			return ErrLocked
		case exit.ExitCode() == exitOther:
			return fmt.Errorf("outbox: check: %s", firstLine(said.Bytes()))
		}
		return fmt.Errorf("%w: %s", ErrDamaged, firstLine(said.Bytes()))
	}
}

// CheckMain is the child's side of CheckInChild: it checks path, explains itself
// through say, and returns the exit code.
func CheckMain(path string, say func(string)) int {
	stop := make(chan struct{})
	defer close(stop)
	go limitMemory(path, stop, say)
	err := CheckFile(path)
	if err == nil {
		return 0
	}
	say(err.Error())
	switch {
	case errors.Is(err, ErrLocked):
		return exitLocked
	case errors.Is(err, ErrDamaged):
		return exitDamaged
	}
	return exitOther
}

// limitMemory ends this process as "damaged" when the check takes far more
// memory than any sound file of that size needs: it is following a loop.
func limitMemory(path string, stop <-chan struct{}, say func(string)) {
	limit := uint64(64 << 20)
	if info, err := os.Stat(path); err == nil {
		limit += uint64(info.Size() / 8)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc+m.StackInuse > limit {
			say("the check needs more memory than a sound file could: the tree has a loop")
			os.Exit(exitDamaged)
		}
	}
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) > 200 {
		line = line[:200]
	}
	return string(line)
}
