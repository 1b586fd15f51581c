package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"vendline/deploy/stack"
)

// Down stops a stack by the processes that its stack.json records, once it is
// sure that these are still they. The data stays.
type Down struct {
	Dir string `help:"The folder given to 'up'." type:"path" default:"var/stack"`
}

// Run does it.
func (d Down) Run(ctx context.Context) error {
	err := stack.Down(ctx, d.Dir, os.Stderr)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "no stack in %s\n", d.Dir)
		return nil
	}
	return err
}
