package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"vendline/cloud/app"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// volumes are the disks that can be full, each a file system of its own, by
// folder of the stack; with room for what a drill writes, and not much more.
func volumes() map[string]int64 {
	return map[string]int64{"redis": 96 << 20, "mariadb": 384 << 20, "mosquitto": 32 << 20, "rocketmq": 512 << 20, "cabinets": 96 << 20}
}

// diskFaults fill one disk after the other to the last byte.
func diskFaults() []Fault {
	log := func(part func(*Site) *stack.Server, words ...string) func(context.Context, *Site) error {
		return func(_ context.Context, s *Site) error { return s.logged(part(s), words...) }
	}
	return []Fault{
		{Name: "agents' disk full", Asked: true, Strike: fill("cabinets", refusesScans)},
		{Name: "mosquitto's disk full", Asked: true, Strike: fill("mosquitto", mosquittoFull)},
		{Name: "mariadbd's disk full", Asked: true, Strike: fill("mariadb", ledgerFull)},
		{Name: "RocketMQ broker's disk full", Asked: true, Strike: fill("rocketmq", log(func(s *Site) *stack.Server { return s.Stack.Broker },
			"No space left", "InternalError", "disk full", "space will be full", "no space", "DISK_FULL"))},
		{Name: "redis's disk full", Asked: true, Away: true, Strike: fill("redis", redisRefuses)},
	}
}

// fill lets a disk be full for a while; hurt waits, as nil, until the part on
// it has noticed.
func fill(volume string, hurt func(context.Context, *Site) error) func(context.Context, *Site, time.Duration) error {
	return func(ctx context.Context, s *Site, _ time.Duration) error {
		s.marks = logSizes(s.Stack)
		b, err := startBallast(filepath.Join(s.Stack.Dir, volume, "ballast"))
		if err != nil {
			return err
		}
		over := time.After(s.Times.Full)
		patience, cancel := context.WithTimeout(ctx, 30*time.Second)
		noticed := until(patience, func() error { return hurt(patience, s) })
		cancel()
		select {
		case <-over:
		case <-ctx.Done():
		}
		if err := b.free(); err != nil {
			return err
		}
		if noticed != nil {
			return fmt.Errorf("drill: the disk under %s was full for a while and nobody noticed: %w", volume, noticed)
		}
		// A server may take a full disk for the end; whoever runs it starts it again.
		for _, server := range s.Stack.Servers() {
			if server.PID() == 0 {
				s.book.Note("%s ended when its disk was full, and was started again", server.Name())
				if err := server.Start(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// until repeats what fails until it does not, or ctx ends.
func until(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ballast is a file that takes every byte that is free, and every one that becomes so.
type ballast struct {
	file *os.File
	stop chan struct{}
	wg   sync.WaitGroup
}

// startBallast returns once the disk has refused a byte.
func startBallast(path string) (*ballast, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	b := &ballast{file: f, stop: make(chan struct{})}
	if err := b.grow(); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	b.wg.Go(func() {
		for {
			select {
			case <-b.stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = b.grow() // the first time has shown that it can
			}
		}
	})
	return b, nil
}

// grow writes until not one byte more fits.
func (b *ballast) grow() error {
	for size := 1 << 20; size > 0; {
		n, err := b.file.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC) && n == 0:
			size /= 16
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			return fmt.Errorf("drill: fill the disk: %w", err)
		}
	}
	return nil
}

func (b *ballast) free() error {
	close(b.stop)
	b.wg.Wait()
	return b.remove()
}

func (b *ballast) remove() error {
	return errors.Join(b.file.Truncate(0), b.file.Close(), os.Remove(b.file.Name()))
}

// refusesScans: a cabinet sells nothing that it could not keep.
func refusesScans(ctx context.Context, s *Site) error {
	for c, url := range s.AgentURLs() {
		w := wish{cabinet: c, user: "prober", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
		key := app.NewID()
		s.book.Begin(Event{ID: key, Key: key, Kind: Scan, Cabinet: c, User: w.user, Lines: w.lines})
		a := s.call.post(ctx, url+"/v1/scan-orders", key, scanBody(w))
		switch {
		case a.outcome == Yes:
			s.book.Said(key, a.body)
			return fmt.Errorf("the agent of %s takes a scan", c)
		case a.status != 507:
			s.book.Forget(key)
			return fmt.Errorf("the agent of %s says %d %s", c, a.status, a.body)
		}
		s.book.Forget(key) // refused before anything was kept
	}
	return nil
}

// mosquittoFull: it saves its sessions every second, and does not always tell
// that it could not; the file then has no bytes.
func mosquittoFull(_ context.Context, s *Site) error {
	if s.logged(s.Stack.Mosquitto, "No space left") == nil {
		return nil
	}
	for _, name := range []string{"mosquitto.db", "mosquitto.db.new"} {
		if info, err := os.Stat(filepath.Join(s.Stack.Dir, "mosquitto", "data", name)); err == nil && info.Size() == 0 {
			return nil
		}
	}
	return fmt.Errorf("mosquitto still saves what it has; its log is %s", s.Stack.Mosquitto.Log())
}

// ledgerFull: not even a table of no rows fits.
func ledgerFull(ctx context.Context, s *Site) error {
	_, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS drill_full (id BIGINT PRIMARY KEY) ENGINE=InnoDB")
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DROP TABLE drill_full")
		return errors.Join(errors.New("a table is made in MariaDB"), err)
	}
	for _, full := range []string{"28", "full", "No space"} {
		if strings.Contains(err.Error(), full) {
			return nil
		}
	}
	return err
}

// redisRefuses: what can not be appended to the file is not acknowledged.
func redisRefuses(ctx context.Context, s *Site) error {
	err := s.redis.Set(ctx, "drill:full", 1, time.Minute).Err()
	if err != nil && strings.Contains(err.Error(), "MISCONF") {
		return nil
	}
	return errors.Join(errors.New("a key is taken by Redis"), err)
}

// logSizes is where each log ends now.
func logSizes(s *stack.Stack) map[string]int64 {
	sizes := map[string]int64{}
	for _, server := range s.Servers() {
		if info, err := os.Stat(server.Log()); err == nil {
			sizes[server.Name()] = info.Size()
		}
	}
	return sizes
}

// logged looks for any of words in what a server has written since the blow.
func (s *Site) logged(server *stack.Server, words ...string) error {
	text, err := os.ReadFile(server.Log())
	if err != nil {
		return err
	}
	text = text[min(s.marks[server.Name()], int64(len(text))):]
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return nil
		}
	}
	return fmt.Errorf("%s does not say so in its log, %s", server.Name(), server.Log())
}
