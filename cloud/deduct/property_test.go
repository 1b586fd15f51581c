package deduct_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"vendline/cloud/deduct/deducttest"
	"vendline/deploy/stack"
)

func TestEmbeddedRedisFollowsTheReferenceThroughAnyHistory(t *testing.T) {
	rapid.Check(t, deducttest.Property(deducttest.NewFixture(t, deducttest.Rig{Addr: miniredis.RunT(t).Addr()})))
}

func TestRealRedisFollowsTheReferenceThroughAnyHistory(t *testing.T) {
	if !testing.Short() {
		rapid.Check(t, deducttest.Property(deducttest.NewFixture(t, deducttest.Rig{Addr: stack.Need(t).RedisAddr})))
	}
}
