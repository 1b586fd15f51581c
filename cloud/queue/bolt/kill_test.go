package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/queue"
	"vendline/cloud/queue/bolt"
)

const childFile = "VENDLINE_TEST_BOLT_CHILD" // path of the queue that a child process works on

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child sends for ever, works off half of it, and says on stdout what Send accepted.
func child(path string) error {
	q, err := bolt.Open(path, bolt.Options{Log: quiet()})
	if err != nil {
		return err
	}
	ctx := context.Background()
	_, err = q.Receive(ctx, "t", "g", func(_ context.Context, msgs []queue.Message) error {
		var out strings.Builder
		for _, m := range msgs {
			fmt.Fprintln(&out, "handled", m.Key)
		}
		_, err := os.Stdout.WriteString(out.String())
		return err
	})
	if err != nil {
		return err
	}
	var senders sync.WaitGroup
	for s := range 8 {
		senders.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d-%d", os.Getpid(), s, i)
				m := queue.Message{Topic: "t", Key: key, Shard: s, Body: []byte(key)}
				if i%3 == 0 {
					m.DeliverAt = time.Now().Add(2 * time.Second)
				}
				if err := q.Send(ctx, m); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Fprintln(os.Stdout, "sent", key)
			}
		})
	}
	senders.Wait()
	return nil
}

// Nothing that Send accepted is lost to kill -9: it was handled before, or it
// is delivered afterwards.
func TestKillLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	sent, handled := map[string]bool{}, map[string]bool{}
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childFile+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 2000 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			switch verb, key, _ := strings.Cut(lines.Text(), " "); verb {
			case "sent":
				sent[key] = true
			case "handled":
				handled[key] = true
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was meant to be killed")
		}
	}

	q := open(t, path)
	var mu sync.Mutex
	missing := map[string]bool{}
	for key := range sent {
		if !handled[key] {
			missing[key] = true
		}
	}
	all := make(chan struct{})
	if len(missing) == 0 {
		t.Fatal("nothing was under way when the child died")
	}
	stop, err := q.Receive(t.Context(), "t", "g", func(_ context.Context, msgs []queue.Message) error {
		mu.Lock()
		defer mu.Unlock()
		before := len(missing)
		for _, m := range msgs {
			delete(missing, m.Key)
		}
		if before > 0 && len(missing) == 0 {
			close(all)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	select {
	case <-all:
	case <-time.After(time.Minute):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d of %d accepted messages are lost", len(missing), len(sent))
	}
}
