package deduct

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"vendline/lua"
)

// call is one script run: what is sent, and what came back.
type call struct {
	script *lua.Script
	args   []any // of the whole EVALSHA command; pointers are followed when it is written
	reply  reply
	err    error // not an answer: the script may have run
}

// once is a command that the client must not run again by itself. The cluster
// client would otherwise repeat a whole pipeline after a read timeout.
type once struct{ *redis.Cmd }

// NoRetry tells the client so.
func (once) NoRetry() bool { return true }

// evalsha starts the arguments of a script call: command, digest, number of keys.
func evalsha(args []any, s *lua.Script, keys int) []any {
	return append(args, "evalsha", s.SHA, keys)
}

// run sends calls in one pipeline and fills in each one's reply or error. A
// Redis that lost its scripts (a failover, SCRIPT FLUSH) gets just the calls it
// did not know again, this time with their source: those have not run.
func (s *Stock) run(ctx context.Context, calls []*call) {
	lost := s.send(ctx, calls)
	if len(lost) == 0 {
		return
	}
	for _, c := range lost {
		c.args = append([]any{"eval", c.script.Source}, c.args[2:]...)
	}
	s.send(ctx, lost)
}

// send returns the calls whose script Redis does not know.
func (s *Stock) send(ctx context.Context, calls []*call) (lost []*call) {
	pipe := s.rdb.Pipeline()
	cmds := make([]once, len(calls))
	for i, c := range calls {
		cmds[i] = once{redis.NewCmd(ctx, c.args...)}
		_ = pipe.Process(ctx, cmds[i]) // queues; the outcome is the command's own
	}
	_, _ = pipe.Exec(ctx) // repeats the first command's error
	for i, c := range calls {
		answer, err := cmds[i].Result()
		if err != nil {
			if redis.HasErrorPrefix(err, "NOSCRIPT") {
				lost = append(lost, c)
			}
			c.err = fmt.Errorf("redis: %s: %w", c.script.Name, err)
			continue
		}
		c.reply, c.err = read(c.script, answer)
	}
	return lost
}

// one runs a single call.
func (s *Stock) one(ctx context.Context, script *lua.Script, keys []string, args ...any) (reply, error) {
	c := &call{script: script, args: evalsha(make([]any, 0, 3+len(keys)+len(args)), script, len(keys))}
	for i := range keys {
		c.args = append(c.args, keys[i])
	}
	c.args = append(c.args, args...)
	s.run(ctx, []*call{c})
	return c.reply, c.err
}
