package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// clusterNodes are three masters, each with a replica.
const clusterNodes = 6

// busDistance is how far above its port a node's cluster bus listens.
const busDistance = 10_000

// startRedisCluster starts a cluster of three masters and three replicas. A part
// of it that is down takes none of the others with it.
func (s *Stack) startRedisCluster(ctx context.Context) error {
	cli, err := find("redis-cli")
	if err != nil {
		return err
	}
	args := []string{"--cluster", "create"}
	var addrs []string
	for n := range clusterNodes {
		node, err := s.startNode(ctx, fmt.Sprintf("redis-%d", n+1), busDistance, `
cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout 1500
cluster-replica-validity-factor 0
cluster-require-full-coverage no
`)
		if err != nil {
			return err
		}
		s.Nodes = append(s.Nodes, node)
		addrs = append(addrs, node.Addr())
	}
	out, err := exec.CommandContext(ctx, cli, append(append(args, addrs...), "--cluster-replicas", "1", "--cluster-yes")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stack: create the cluster: %w\n%s", err, out)
	}
	for _, addr := range addrs {
		if err := clusterAgrees(ctx, addr); err != nil {
			return err
		}
	}
	return edit(s.Dir, func(d *Description) error { d.StockURL = "redis-cluster://" + strings.Join(addrs, ","); return nil })
}

// startNode starts one redis-server of several, with more configuration.
func (s *Stack) startNode(ctx context.Context, name string, neighbour int, more string) (server *Server, err error) {
	program, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var neighbours []int
	if neighbour != 0 {
		neighbours = []int{neighbour}
	}
	for tries := 0; ; tries++ {
		port := firstFree + rand.IntN(22_000-firstFree) // so that the bus is below the ports of outgoing connections
		if listenable(port, neighbours...) != nil && tries < 200 {
			continue
		}
		file := filepath.Join(dir, "redis.conf")
		if err := replaceFile(file, []byte(redisConf(dir, port)+more)); err != nil {
			return nil, fmt.Errorf("stack: configure %s: %w", name, err)
		}
		if server, err = s.server(Process{Name: name, Program: program, Args: []string{file}, Dir: dir, Addr: address(port)}); err != nil {
			return nil, err
		}
		server.process.Ready = func(ctx context.Context) error { return redisAnswers(ctx, server.Addr(), server.PID()) }
		if err = server.Start(ctx); !errors.Is(err, errPortTaken) || tries > 200 {
			return server, err
		}
	}
}

// clusterAgrees waits until a node sees all slots served.
func clusterAgrees(ctx context.Context, addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	defer c.Close()
	for {
		info, err := c.ClusterInfo(ctx).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", clusterNodes)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stack: the Redis cluster does not form: %w (%v)", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
