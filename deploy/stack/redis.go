package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// startRedis starts redis-server as production would: appended to disk every
// second, and refusing writes rather than forgetting keys when memory is full.
func (s *Stack) startRedis(ctx context.Context) error {
	program, err := find("redis-server")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return onPort(ctx, "redis", s.options.Ports.Redis, nil, func(port int) error {
		file := filepath.Join(dir, "redis.conf")
		if err := replaceFile(file, []byte(redisConf(dir, port))); err != nil {
			return fmt.Errorf("stack: configure redis: %w", err)
		}
		server, err := s.server(Process{
			Name: "redis", Program: program, Args: []string{file}, Dir: dir,
			Addr: address(port), Ready: nil,
		})
		if err != nil {
			return err
		}
		server.process.Ready = func(ctx context.Context) error {
			return redisAnswers(ctx, address(port), server.PID())
		}
		s.Redis = server
		if err := server.Start(ctx); err != nil {
			return err
		}
		return edit(s.Dir, func(d *Description) error { d.RedisAddr = address(port); return nil })
	})
}

func redisConf(dir string, port int) string {
	return fmt.Sprintf(`# Written at every start.
port %d
bind 127.0.0.1
dir "%s"
daemonize no
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
# The holds in flight of a busy cabinet are hundreds of fields: as a list, each
# of them would be searched from its head.
hash-max-listpack-entries 32
auto-aof-rewrite-min-size 512mb
# Its command line says who it is, also to the one who stops it later.
set-proc-title no
`, port, dir)
}

// redisAnswers pings, and makes sure that it is this very process that answers:
// another one may have taken the port.
func redisAnswers(ctx context.Context, addr string, pid int) error {
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return fmt.Errorf("another redis-server answers at %s", addr)
	}
	return nil
}
