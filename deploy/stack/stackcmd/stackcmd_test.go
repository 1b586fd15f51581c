//go:build linux

package stackcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"vendline/deploy/stack"
)

func TestTheCommandLineIsUnderstood(t *testing.T) {
	var line struct {
		Stack Stack `cmd:""`
	}
	parser, err := kong.New(&line, kong.Name("vend"))
	if err != nil {
		t.Fatal(err)
	}
	parse := func(args ...string) {
		t.Helper()
		if _, err := parser.Parse(args); err != nil {
			t.Fatal(err)
		}
	}
	parse("stack", "run", "--", "go", "test", "-run", "X", "./...")
	if got := strings.Join(line.Stack.Run.Command, " "); !strings.HasSuffix(got, "go test -run X ./...") {
		t.Errorf("the command is %q", got)
	}
	if o := line.Stack.Run.options(); !o.Redis || !o.MariaDB || !o.Mosquitto || !o.RocketMQ || len(o.Cabinets) != 2 {
		t.Errorf("by default: %+v", o)
	}
	parse("stack", "up", "--only", "redis,mosquitto", "--detach", "--dir", "/x")
	if o := line.Stack.Up.options(); !o.Redis || o.MariaDB || !o.Mosquitto || o.RocketMQ {
		t.Errorf("only two: %+v", o)
	}
	if _, err := parser.Parse([]string{"stack", "up", "--only", "oracle"}); err == nil {
		t.Error("an unknown server was accepted")
	}
}

func TestAnExitCodeReachesKong(t *testing.T) {
	var coder kong.ExitCoder
	if err := error(ExitError{7}); !errors.As(err, &coder) || coder.ExitCode() != 7 {
		t.Errorf("kong would not end with 7 but with %v", coder)
	}
}

// realTests need redis-server; `go test -short` runs none of them.
func realTests() map[string]func(*testing.T) {
	if testing.Short() {
		return nil
	}
	return map[string]func(*testing.T){
		"run passes the stack and the exit code":    runPassesTheStackAndTheExitCode,
		"run ends the command when it is told to":   runEndsTheCommand,
		"run kills what the command left behind":    runKillsWhatTheCommandLeft,
		"up detached runs until down":               upDetachedRunsUntilDown,
		"up in the foreground ends when it is told": upInTheForegroundEnds,
	}
}

func TestRealCommands(t *testing.T) {
	for name, run := range realTests() {
		t.Run(name, run)
	}
}

func onlyRedis() Servers { return Servers{Only: []string{"redis"}} }

// sh is a command that writes into dir what the test wants to see.
func sh(dir, script string) []string {
	return []string{"--", "sh", "-c", "cd '" + dir + "' && " + script}
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// nothingMentions finds processes that have the folder in their command line or environment.
func nothingMentions(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("still there: %s %q", file, text)
		}
	}
}

func runPassesTheStackAndTheExitCode(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	copied := filepath.Join(dir, "copy")
	err := Run{Servers: onlyRedis(), Command: sh(dir, `cp "$VENDLINE_STACK" copy`)}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := stack.Load(copied)
	if err != nil || d.RedisAddr == "" {
		t.Errorf("the command saw %+v, error %v", d, err)
	}
	nothingMentions(t, dir)
	if left, err := filepath.Glob(filepath.Join(dir, "vendline-run-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, error %v", left, err)
	}

	err = Run{Servers: onlyRedis(), Command: sh(dir, "exit 7")}.Run(t.Context())
	if code, ok := errors.AsType[ExitError](err); !ok || code.Code != 7 {
		t.Errorf("error %v", err)
	}
	nothingMentions(t, dir)
	if logs, err := filepath.Glob(filepath.Join(dir, "vendline-run-*", "log", "redis.log")); err != nil || len(logs) != 1 {
		t.Errorf("logs for the one who looks for the reason: %q, error %v", logs, err)
	}
}

func runEndsTheCommand(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run{Servers: onlyRedis(), Dir: filepath.Join(dir, "stack"),
			Command: sh(dir, `trap 'echo told >told; exit 4' TERM; echo >up; while :; do sleep 0.05; done`)}.Run(ctx)
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "up")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command never ran")
		}
	}
	cancel()
	err := <-ended
	if code, ok := errors.AsType[ExitError](err); !ok || code.Code != 4 || content(t, dir, "told") != "told" {
		t.Errorf("error %v", err)
	}
	nothingMentions(t, dir)
}

func runKillsWhatTheCommandLeft(t *testing.T) {
	dir := t.TempDir()
	err := Run{Servers: onlyRedis(), Dir: filepath.Join(dir, "stack"),
		Command: sh(dir, `(sh -c 'trap "" TERM HUP; while :; do sleep 0.05; done' "`+dir+`" &)`)}.Run(t.Context())
	if err != nil {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond)
	nothingMentions(t, dir)
}

func upDetachedRunsUntilDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stack")
	up := Up{Servers: onlyRedis(), Dir: dir, Detach: true, FreePorts: true}
	for range 2 { // the second finds it running
		if err := up.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	status := func() (State, error) {
		var out bytes.Buffer
		err := Status{Dir: dir, JSON: true, Out: &out}.Run(t.Context())
		var state State
		if err := json.Unmarshal(out.Bytes(), &state); err != nil {
			t.Fatal(err)
		}
		return state, err
	}
	if state, err := status(); err != nil || !state.Running || len(state.Processes) != 1 || state.Processes[0].PID == 0 {
		t.Errorf("up: %+v, error %v", state, err)
	}
	for range 2 { // the second finds nothing to stop
		if err := (Down{Dir: dir}).Run(t.Context()); err != nil {
			t.Error(err)
		}
	}
	nothingMentions(t, dir)
	if state, err := status(); err == nil || state.Running || state.Processes[0].Running {
		t.Errorf("down: %+v, error %v", state, err)
	}
	if err := (Down{Dir: t.TempDir()}).Run(t.Context()); err != nil {
		t.Errorf("down where nothing ever was: %v", err)
	}
}

func upInTheForegroundEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stack")
	ctx, cancel := context.WithCancel(t.Context())
	up := Up{Servers: onlyRedis(), Dir: dir, FreePorts: true}
	up.After = func(ctx context.Context, s *stack.Stack) error {
		_, err := s.Add(ctx, stack.Process{Name: "vend-cloud", Program: "sleep", Args: []string{"1000"}})
		cancel()
		return err
	}
	if err := up.Run(ctx); err != nil {
		t.Error(err)
	}
	nothingMentions(t, dir)
	d, err := stack.Load(dir)
	if err != nil || len(d.Processes) != 2 || d.Processes[1].Alive() {
		t.Errorf("recorded: %+v, error %v", d, err)
	}
}
