package deducttest

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"vendline/lua"
)

// keys lists the keys that match a pattern in which % is the cabinet.
func (f *Fixture) keys(pattern string) []string {
	f.t.Helper()
	pattern = strings.ReplaceAll(pattern, "%", f.Cabinet)
	var keys []string
	scan := func(ctx context.Context, c *redis.Client) error {
		it := c.Scan(ctx, 0, pattern, 10_000).Iterator()
		for it.Next(ctx) {
			keys = append(keys, it.Val())
		}
		return it.Err()
	}
	var err error
	switch c := f.Redis.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(f.t.Context(), scan) // all keys of a cabinet are on one, so the others add none
	case *redis.Client:
		err = scan(f.t.Context(), c)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// node is the address of the server that holds the cabinet.
func (f *Fixture) node() string {
	f.t.Helper()
	c, isCluster := f.Redis.(*redis.ClusterClient)
	if !isCluster {
		return f.Rig.Addr
	}
	master, err := c.MasterForKey(f.t.Context(), lua.KeysOf(f.Cabinet, "", "").Stock)
	if err != nil {
		f.t.Fatal(err)
	}
	return master.Options().Addr
}
