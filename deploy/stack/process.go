package stack

import (
	"context"
	"time"
)

// Process describes a program that the stack runs: one of its servers, or one
// that was added with [Stack.Add], such as vend-cloud.
type Process struct {
	Name    string // unique in the stack; its log is log/<Name>.log
	Program string // path or name of the binary
	Args    []string
	Env     []string // added to this process's own environment
	Dir     string   // working folder; empty means the stack's

	Addr string // host:port it serves, if any

	// Ready returns nil once the process truly answers. It is asked again and
	// again until then; nil means ready as soon as it runs.
	Ready func(ctx context.Context) error

	// Grace is the time between asking it to end and SIGKILL; 0 means 15 s.
	Grace time.Duration
}

func (p Process) grace() time.Duration {
	if p.Grace > 0 {
		return p.Grace
	}
	return 15 * time.Second
}
