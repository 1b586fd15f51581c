package deduct

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"vendline/cloud/fence"
)

// Servers says more about where Redis is than one URL can.
type Servers struct {
	Nodes   []string      // further host:port: of the cluster, or of the sentinels
	Master  string        // name of the master that sentinels watch; not empty means sentinel
	Cluster bool          // one address stands for a cluster
	Gate    *fence.Gate   // every new connection passes it; nil lets all in
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

// Client makes a client without asking whether Redis is there. url is one of
//
//	redis://[user:password@]host:port[/db]              one server; rediss:// for TLS
//	redis-cluster://[user:password@]host:port,…         a cluster, by some of its nodes
//	redis-sentinel://[user:password@]host:port,…/name   the master that sentinels call name
func Client(url string, more Servers) (redis.UniversalClient, error) {
	o, err := settings(url, more)
	if err != nil {
		return nil, err
	}
	if o.IsClusterMode || o.MasterName == "" && len(o.Addrs) > 1 {
		cluster := o.Cluster()
		// A master that died moves nothing: nobody is left to say MOVED, and since no
		// command is repeated the client would go on asking the dead for a minute.
		cluster.ClusterStateReloadInterval = time.Second
		return redis.NewClusterClient(cluster), nil
	}
	return redis.NewUniversalClient(o), nil
}

// settings are those that the promises of this package need: a timed out
// script may have run, so the client never repeats one by itself, and a
// caller's deadline ends the wait for a reply.
func settings(url string, more Servers) (*redis.UniversalOptions, error) {
	url, err := more.read(url)
	if err != nil {
		return nil, err
	}
	one, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("deduct: redis url: %w", err)
	}
	if more.Timeout <= 0 {
		more.Timeout = 2 * time.Second
	}
	o := &redis.UniversalOptions{
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
	}
	if more.Gate != nil {
		o.OnConnect = meet(more.Gate)
	}
	return o, nil
}

// read turns the forms for many servers into that for one and what goes with it.
func (s *Servers) read(url string) (one string, err error) {
	kind, rest, _ := strings.Cut(url, "://")
	if kind != "redis-cluster" && kind != "redis-sentinel" {
		return url, nil
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = rest[:at+1], rest[at+1:]
	}
	hosts, name, _ := strings.Cut(rest, "/")
	nodes := strings.Split(hosts, ",")
	if slices.Contains(nodes, "") {
		return "", fmt.Errorf("deduct: %s:// needs host:port,host:port,…, not %q", kind, hosts)
	}
	s.Nodes = append(nodes[1:], s.Nodes...)
	switch {
	case kind == "redis-cluster" && name != "":
		return "", fmt.Errorf("deduct: a cluster has no database %q", name)
	case kind == "redis-sentinel" && name == "":
		return "", errors.New("deduct: redis-sentinel:// needs the master's name: redis-sentinel://host:port,…/name")
	case kind == "redis-cluster":
		s.Cluster = true
	default:
		s.Master = name
	}
	return "redis://" + user + nodes[0], nil
}
