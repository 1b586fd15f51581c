package deduct

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/fence"
	"vendline/lua"
)

// errReplica refuses a connection to a replica: it serves no script, and once it
// is promoted it shall be met by a new connection.
var errReplica = errors.New("it is a replica")

// asker is a client or one connection.
type asker interface {
	InfoMap(ctx context.Context, sections ...string) *redis.InfoCmd
	ClusterNodes(ctx context.Context) *redis.StringCmd
}

// describe asks a server who it is.
func describe(ctx context.Context, c asker, place string) (fence.Server, error) {
	info, err := c.InfoMap(ctx).Result() // all default sections: servers before 7 take one or all
	if err != nil {
		return fence.Server{}, fmt.Errorf("redis info of %s: %w", place, err)
	}
	if place == "" {
		place = "port " + info["Server"]["tcp_port"]
	}
	s := fence.Server{Place: place, Identity: info["Server"]["run_id"] + "/" + info["Replication"]["master_replid"]}
	if role := info["Replication"]["role"]; role != "" && role != "master" {
		return s, errReplica
	}
	s.Evicted, _ = strconv.ParseInt(info["Stats"]["evicted_keys"], 10, 64)
	if info["Cluster"]["cluster_enabled"] == "1" {
		nodes, err := c.ClusterNodes(ctx).Result()
		if err != nil {
			return s, fmt.Errorf("redis cluster nodes of %s: %w", place, err)
		}
		s.Serves = serves(nodes)
	}
	return s, nil
}

// serves reads the slots of the node that answered CLUSTER NODES.
func serves(nodes string) func(cabinet string) bool {
	type span struct{ from, to int }
	var spans []span
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.Contains(f[2], "myself") {
			continue
		}
		for _, s := range f[8:] {
			if strings.HasPrefix(s, "[") { // on its way from or to another node
				continue
			}
			first, last, isRange := strings.Cut(s, "-")
			if !isRange {
				last = first
			}
			from, err1 := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err1 == nil && err2 == nil {
				spans = append(spans, span{from, to})
			}
		}
	}
	return func(cabinet string) bool {
		slot := lua.Slot(cabinet)
		for _, s := range spans {
			if s.from <= slot && slot <= s.to {
				return true
			}
		}
		return false
	}
}

// meetLimit bounds the meeting: whoever waits for the connection may hold locks
// that it needs.
const meetLimit = 3 * time.Second

// meet is what every new connection does before anybody uses it.
func meet(gate *fence.Gate) func(ctx context.Context, c *redis.Conn) error {
	return func(ctx context.Context, c *redis.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, meetLimit)
		defer cancel()
		s, err := describe(ctx, c, "")
		if err != nil {
			return err
		}
		return gate.Enter(ctx, s)
	}
}

// Masters implements fence.Masters.
func (s *Stock) Masters(ctx context.Context) ([]fence.Server, error) {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		one, ok := s.rdb.(*redis.Client)
		if !ok {
			return nil, fmt.Errorf("deduct: %T has no masters", s.rdb)
		}
		server, err := describe(ctx, one, one.Options().Addr)
		if err != nil {
			return nil, err
		}
		return []fence.Server{server}, nil
	}
	var mu sync.Mutex
	var all []fence.Server
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		server, err := describe(ctx, c, c.Options().Addr)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, server)
		return nil
	})
	if err != nil { // it is away, or demoted: somebody else may serve its slots
		cluster.ReloadState(ctx)
	}
	return all, err
}

// Generations implements fence.Loaded.
func (s *Stock) Generations(ctx context.Context, cabinets []string) (map[string]string, error) {
	out := make(map[string]string, len(cabinets))
	for from := 0; from < len(cabinets); from += lua.MaxStock {
		some := cabinets[from:min(from+lua.MaxStock, len(cabinets))]
		cmds, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, c := range some {
				p.HGet(ctx, lua.KeysOf(c, "", "").Stock, lua.FieldGeneration)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("deduct: read generations: %w", err)
		}
		for i, cmd := range cmds {
			switch g, err := cmd.(*redis.StringCmd).Result(); {
			case err == nil:
				out[some[i]] = g
			case !errors.Is(err, redis.Nil):
				return nil, fmt.Errorf("deduct: read generations: %w", err)
			}
		}
	}
	return out, nil
}
