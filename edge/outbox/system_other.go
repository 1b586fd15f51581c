//go:build !unix

package outbox

import (
	"math"
	"os/exec"
)

// Elsewhere (a developer's Windows machine) bbolt's own lock and errors have to
// do; cabinets run Linux.

func outOfSpace(error) bool { return false }

func killed(*exec.ExitError) bool { return false }

func lock(string) (func() error, error) { return func() error { return nil }, nil }

func freeOn(string) (uint64, error) { return math.MaxUint64, nil }

func syncDir(string) error { return nil }
