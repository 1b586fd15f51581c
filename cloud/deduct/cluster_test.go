package deduct_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/deduct/deducttest"
)

func TestAClusterOfTwoKeepsTheContract(t *testing.T) {
	if !testing.Short() {
		nodes := startCluster(t)
		deducttest.Run(t, deducttest.Rig{Addr: nodes[0], Servers: deduct.Servers{Nodes: nodes[1:]}})
	}
}

// startCluster starts two masters that share the slots evenly.
func startCluster(t *testing.T) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var addrs []string
	var nodes []*redis.Client
	for i := range 2 {
		addr := startNode(t)
		n := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = n.Close() })
		await(t, ctx, func() bool { return n.Ping(ctx).Err() == nil })
		if err := n.ClusterAddSlotsRange(ctx, i*8192, i*8192+8191).Err(); err != nil {
			t.Fatal(err)
		}
		if err := n.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			t.Fatal(err)
		}
		addrs, nodes = append(addrs, addr), append(nodes, n)
	}
	host, port, _ := net.SplitHostPort(addrs[1])
	if err := nodes[0].ClusterMeet(ctx, host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		await(t, ctx, func() bool {
			info := n.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_assigned:16384")
		})
	}
	return addrs
}

// startNode starts one redis-server in cluster mode, for this test alone.
func startNode(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	cmd := exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--cluster-enabled", "yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// freePort finds one whose cluster bus, 10,000 above, exists and is free too.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		port -= port / 55_000 * 20_000
		bus, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+10_000))
		if err != nil {
			continue
		}
		_ = bus.Close()
		return port
	}
	t.Fatal("no free port")
	return 0
}

func await(t *testing.T, ctx context.Context, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("the cluster does not come up")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
