package stack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// It takes the right to mount, which CI has; without it this is red.
func TestAVolumeCanBeFullAndGoesAway(t *testing.T) {
	if testing.Short() {
		return // needs the right to mount
	}
	dir := t.TempDir()
	v, err := mountVolumes(dir, map[string]int64{"a": 1 << 20, "b": 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.unmount() }()
	if err := os.WriteFile(filepath.Join(dir, "a", "much"), make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("two megabytes into one: %v", err)
	}
	if err := v.unmount(); err != nil {
		t.Error(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("a mount was left behind:\n%s", mounts)
	}
}
