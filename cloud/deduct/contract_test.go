package deduct_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"

	"vendline/cloud/deduct/deducttest"
	"vendline/deploy/stack"
)

func TestEmbeddedRedisKeepsTheContract(t *testing.T) {
	deducttest.Run(t, deducttest.Rig{Addr: miniredis.RunT(t).Addr()})
}

func TestRealRedisKeepsTheContract(t *testing.T) {
	if !testing.Short() {
		deducttest.Run(t, deducttest.Rig{Addr: stack.Need(t).RedisAddr})
	}
}
