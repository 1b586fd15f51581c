package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"vendline/shared/wire"
)

// binary measures the shipped binary as a child process: its size, and what it
// takes of memory with nothing waiting and with a backlog. There is no broker,
// so nothing drains. Resident memory includes pages of the mapped file.
func (r *Result) binary(ctx context.Context, opt Options) error {
	info, err := os.Stat(opt.Binary)
	if err != nil {
		return err
	}
	r.BinaryBytes = info.Size()
	rows := int64(opt.Backlog)
	if rows == 0 {
		rows = 100_000
	}
	data := filepath.Join(opt.Dir, "memory", time.Now().Format("150405.000000000"))
	c, err := startChild(ctx, opt.Binary, data)
	if err != nil {
		return err
	}
	defer c.stop()
	if r.RSSEmptyKiB, err = c.status("VmRSS"); err != nil {
		return err
	}
	began := time.Now()
	if err := c.post(ctx, rows, 64); err != nil {
		return err
	}
	r.HTTPPerSecond = float64(rows) / time.Since(began).Seconds()
	if r.RSSBacklogKiB, err = c.status("VmRSS"); err != nil {
		return err
	}
	if r.RSSPeakKiB, err = c.status("VmHWM"); err != nil {
		return err
	}
	h, err := c.health(ctx)
	if err != nil {
		return err
	}
	r.BacklogRows, r.BacklogBytes = h.Depth, h.DBBytes
	if h.Depth != rows {
		return fmt.Errorf("%d rows wait, and %d were promised", h.Depth, rows)
	}
	return nil
}

type child struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
}

func startChild(ctx context.Context, binary, data string) (*child, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	c := &child{url: "http://" + addr, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	// Nothing listens on port 1: the agent is offline for good.
	c.cmd = exec.CommandContext(ctx, binary, "--cabinet", "BENCH", "--data", data, "--listen", addr, "--mqtt", "tcp://127.0.0.1:1")
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		if _, err := c.health(ctx); err == nil {
			return c, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			c.stop()
			return nil, fmt.Errorf("the agent never answered: %w", ctx.Err())
		}
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (c *child) stop() {
	c.client.CloseIdleConnections()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	_ = c.cmd.Wait()
}

// status reads a line of /proc/<pid>/status, in KiB.
func (c *child) status(name string) (int64, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return 0, errors.New("no " + name + " in /proc/<pid>/status")
}

func (c *child) post(ctx context.Context, rows int64, connections int) error {
	body := string(wire.Encode(basket()))
	var taken atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for taken.Add(1) <= rows && failed.Load() == nil {
				if err := c.postOne(ctx, body); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *child) postOne(ctx context.Context, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/scan-orders", strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("POST answered %s", resp.Status)
	}
	return nil
}

type health struct {
	Depth   int64 `json:"depth"`
	DBBytes int64 `json:"db_bytes"`
}

func (c *child) health(ctx context.Context) (h health, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/v1/health", nil)
	if err != nil {
		return h, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return h, err
	}
	defer resp.Body.Close()
	return h, json.NewDecoder(resp.Body).Decode(&h)
}
