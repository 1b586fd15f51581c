package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"vendline/lua"
)

// direct is a client of one server, whatever it is a part of.
func direct(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1, ContextTimeoutEnabled: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
}

// Replicas lists the nodes that copy from a master now.
func (s *Stack) Replicas(ctx context.Context) (all []*Server) {
	for _, n := range s.Nodes {
		if n.PID() == 0 {
			continue
		}
		c := direct(n.Addr())
		if info, err := c.Info(ctx, "replication").Result(); err == nil && strings.Contains(info, "role:slave") {
			all = append(all, n)
		}
		_ = c.Close()
	}
	return all
}

// Master finds the node that serves a cabinet's stock now, of a cluster or under
// sentinels.
func (s *Stack) Master(ctx context.Context, cabinet string) (*Server, error) {
	addr, err := s.masterAddr(ctx, cabinet)
	if err != nil {
		return nil, err
	}
	for _, n := range s.Nodes {
		if n.Addr() == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("stack: %s is no node of ours", addr)
}

func (s *Stack) masterAddr(ctx context.Context, cabinet string) (addr string, err error) {
	err = fmt.Errorf("stack: there are no nodes")
	for _, one := range s.Sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: one.Addr(), MaxRetries: -1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		var at []string
		at, err = c.GetMasterAddrByName(ctx, masterName).Result()
		_ = c.Close()
		if err == nil {
			return strings.Join(at, ":"), nil
		}
	}
	if len(s.Sentinels) > 0 {
		return "", err
	}
	for _, n := range s.Nodes {
		if n.PID() == 0 {
			continue
		}
		c := direct(n.Addr())
		var shards []redis.ClusterShard
		shards, err = c.ClusterShards(ctx).Result()
		_ = c.Close()
		for _, s := range shards {
			for _, r := range s.Slots {
				if slot := int64(lua.Slot(cabinet)); slot < r.Start || slot > r.End {
					continue
				}
				for _, n := range s.Nodes {
					if n.Role == "master" && n.Health == "online" {
						return fmt.Sprintf("%s:%d", n.IP, n.Port), nil
					}
				}
			}
		}
		if err == nil {
			err = fmt.Errorf("stack: nobody serves the slot of %s", cabinet)
		}
	}
	return "", err
}
