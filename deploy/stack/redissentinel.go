package stack

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// masterName is what sentinels call the master.
const masterName = "vendline"

// sentinels agree on a failover when two of the three do.
const sentinels = 3

// startRedisSentinel starts a master, two replicas and three sentinels.
func (s *Stack) startRedisSentinel(ctx context.Context) error {
	master, err := s.startNode(ctx, "redis-1", 0, "")
	if err != nil {
		return err
	}
	s.Nodes = append(s.Nodes, master)
	ip, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		return err
	}
	for n := 2; n <= 3; n++ {
		replica, err := s.startNode(ctx, fmt.Sprintf("redis-%d", n), 0, fmt.Sprintf("\nreplicaof %s %s\n", ip, port))
		if err != nil {
			return err
		}
		s.Nodes = append(s.Nodes, replica)
	}
	var addrs []string
	for n := range sentinels {
		one, err := s.startSentinel(ctx, fmt.Sprintf("sentinel-%d", n+1), ip, port)
		if err != nil {
			return err
		}
		s.Sentinels = append(s.Sentinels, one)
		addrs = append(addrs, one.Addr())
	}
	for _, addr := range addrs {
		if err := sentinelKnows(ctx, addr); err != nil {
			return err
		}
	}
	return edit(s.Dir, func(d *Description) error {
		d.StockURL = "redis-sentinel://" + strings.Join(addrs, ",") + "/" + masterName
		return nil
	})
}

func (s *Stack) startSentinel(ctx context.Context, name, ip, port string) (server *Server, err error) {
	program, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	err = onPort(ctx, name, 0, nil, func(own int) error {
		file := filepath.Join(dir, "sentinel.conf") // sentinel writes into it what it learns
		conf := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir \"%s\"\ndaemonize no\nset-proc-title no\nsentinel monitor %s %s %s 2\nsentinel down-after-milliseconds %s 1500\nsentinel failover-timeout %s 5000\nsentinel parallel-syncs %s 2\n",
			own, dir, masterName, ip, port, masterName, masterName, masterName)
		if err := replaceFile(file, []byte(conf)); err != nil {
			return fmt.Errorf("stack: configure %s: %w", name, err)
		}
		if server, err = s.server(Process{Name: name, Program: program, Args: []string{file, "--sentinel"}, Dir: dir, Addr: address(own)}); err != nil {
			return err
		}
		server.process.Ready = func(ctx context.Context) error { return redisAnswers(ctx, server.Addr(), server.PID()) }
		return server.Start(ctx)
	})
	return server, err
}

// sentinelKnows waits until a sentinel has met the others and both replicas.
func sentinelKnows(ctx context.Context, addr string) error {
	c := redis.NewSentinelClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	defer c.Close()
	for {
		m, err := c.Master(ctx, masterName).Result()
		if err == nil && m["num-slaves"] == "2" && m["num-other-sentinels"] == fmt.Sprint(sentinels-1) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stack: the sentinels do not meet: %w (%v, %v)", context.Cause(ctx), m, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
