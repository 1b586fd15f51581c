package deduct

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Servers says more about where Redis is than one URL can.
type Servers struct {
	Nodes   []string      // further host:port: of the cluster, or of the sentinels
	Master  string        // name of the master that sentinels watch; not empty means sentinel
	Cluster bool          // one address stands for a cluster
	Timeout time.Duration // of a read, a write, a dial; 0 means 2 s
	Pool    int           // connections per node; 0 means the client's own choice
}

// Open makes a client and asks Redis for a sign of life.
func Open(ctx context.Context, url string, more Servers) (redis.UniversalClient, error) {
	rdb, err := Client(url, more)
	if err != nil {
		return nil, err
	}
	if err := rdb.Ping(ctx).Err(); err != nil {
		_ = rdb.Close() // the ping says it better
		return nil, fmt.Errorf("deduct: open: %w", err)
	}
	return rdb, nil
}

// Client makes a client without asking whether Redis is there. url is
// redis://[user:password@]host:port[/db], or rediss:// for TLS.
func Client(url string, more Servers) (redis.UniversalClient, error) {
	o, err := settings(url, more)
	if err != nil {
		return nil, err
	}
	return redis.NewUniversalClient(o), nil
}

// settings are those that the promises of this package need: a timed out
// script may have run, so the client never repeats one by itself, and a
// caller's deadline ends the wait for a reply.
func settings(url string, more Servers) (*redis.UniversalOptions, error) {
	one, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("deduct: redis url: %w", err)
	}
	if more.Timeout <= 0 {
		more.Timeout = 2 * time.Second
	}
	return &redis.UniversalOptions{
		Addrs:         append([]string{one.Addr}, more.Nodes...),
		Username:      one.Username,
		Password:      one.Password,
		DB:            one.DB,
		TLSConfig:     one.TLSConfig,
		MasterName:    more.Master,
		IsClusterMode: more.Cluster,
		PoolSize:      more.Pool,

		MaxRetries:            -1, // none: 0 would mean 3
		ContextTimeoutEnabled: true,
		DialTimeout:           more.Timeout,
		ReadTimeout:           more.Timeout,
		WriteTimeout:          more.Timeout,
		PoolTimeout:           2 * more.Timeout,
		DialerRetries:         1, // a Redis that is away is told at once: orders have a way without it
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}, nil
}
