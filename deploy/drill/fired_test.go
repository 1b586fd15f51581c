package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// talker answers whatever it hears with so many bytes.
func talker(t *testing.T, bytes int) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 64)
				for {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					if _, err := conn.Write(make([]byte, bytes)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestAToxicIsSeenAndItsAbsenceToo(t *testing.T) {
	for _, x := range toxics() {
		t.Run(x.kind, func(t *testing.T) {
			t.Parallel()
			links := newLinks()
			t.Cleanup(links.close)
			if _, err := links.open("a link", "127.0.0.1:0", talker(t, 20_000), []byte("hello")); err != nil {
				t.Fatal(err)
			}
			link := links.all["a link"]
			// A busy machine may pass for a slow link, not for a dead one.
			if x.kind == "reset_peer" || x.kind == "timeout" {
				if link.seen(t.Context(), x) == nil {
					t.Error("it was seen before it was there")
				}
			}
			if err := link.poison(t.Context(), x, 10*time.Millisecond); err != nil {
				t.Error(err)
			}
			if h := hear(t.Context(), link.proxy.Listen, link.hello, 10*time.Second); h.bytes != 20_000 {
				t.Errorf("it is still there: %+v", h)
			}
		})
	}
}

func TestEachToxicsProofIsARule(t *testing.T) {
	quick := heard{bytes: 200, first: time.Millisecond, last: time.Millisecond, err: os.ErrDeadlineExceeded}
	for _, x := range toxics() {
		if x.fired(quick) {
			t.Errorf("%s was seen in a quick whole answer", x.kind)
		}
		dead := heard{err: errors.New("refused")}
		if x.fired(dead) != (x.kind == "reset_peer") {
			t.Errorf("%s and a dead connection: %v", x.kind, x.fired(dead))
		}
		if mute := (heard{err: os.ErrDeadlineExceeded}); x.fired(mute) != (x.kind == "timeout") {
			t.Errorf("%s and silence: %v", x.kind, x.fired(mute))
		}
	}
}

func TestAProcessThatRunsIsNotFrozen(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if err := stopped(cmd.Process.Pid); err == nil {
		t.Error("it runs, and passes for frozen")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := stopped(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
}

func TestWhoAnswersIsNotFrozen(t *testing.T) {
	if h := hear(t.Context(), talker(t, 3), []byte("hello"), time.Second); h.bytes != 3 {
		t.Errorf("heard %+v", h)
	}
}

func TestADiskThatNobodyNoticesIsAComplaint(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := until(ctx, func() error { return errors.New("it takes a key") }); err == nil {
		t.Error("what never failed passes for full")
	}
}

func TestAHoldIsMeasuredByARightClock(t *testing.T) {
	hour := time.Hour.Milliseconds()
	s := sound()
	for _, c := range []struct {
		what   string
		clocks []ClockRead
		ended  int64 // of the hold, by vend-cloud's clock
		late   bool
	}{
		{"ended in time, an hour wrong", []ClockRead{{at(0), 0}, {at(8), -hour}, {at(60), 0}}, at(10) - hour, false},
		{"ended late, an hour wrong", []ClockRead{{at(0), 0}, {at(70), -hour}, {at(90), 0}}, at(80) - hour, true},
		{"never wrong", nil, at(67), true},
	} {
		o := *s.row("ended")
		o.Changed = c.ended
		e := evidence{state: State{At: at(100), Clocks: c.clocks, Orders: []OrderRow{o}}}
		found := ""
		holdsEnded(e, func(_, _, format string, args ...any) { found = fmt.Sprintf(format, args...) })
		if (found != "") != c.late {
			t.Errorf("%s: found %q", c.what, found)
		}
	}
}
