package drill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"vendline/deploy/launch"
)

// Build makes the binaries that a drill kills, as `make build` makes them, in dir.
func Build(ctx context.Context, dir string) (launch.Binaries, error) {
	for _, b := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"-o", filepath.Join(dir, "vend-cloud"), "vendline/cloud/cmd/vend-cloud"}},
		{[]string{"CGO_ENABLED=0"}, []string{"-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "vend-edge"), "vendline/edge/cmd/vend-edge"}},
	} {
		cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, b.args...)...)
		cmd.Env = append(os.Environ(), b.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return launch.Binaries{}, fmt.Errorf("drill: go build %s: %w\n%s", strings.Join(b.args, " "), err, out)
		}
	}
	return launch.Beside(dir)
}
