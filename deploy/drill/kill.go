package drill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vendline/deploy/stack"
)

// killFaults end processes, or what they keep. Those of Redis come last:
// the till has stopped by then, and its rows, which wait for a lease of 20 s,
// are carried out meanwhile.
func killFaults() []Fault {
	return []Fault{
		{Name: "agent killed", Strike: killAgents},
		{Name: "vend-cloud killed", Strike: kill(func(s *Site) *stack.Server { return s.Cloud })},
		{Name: "vend-cloud killed 5 times", Strike: killOften},
		{Name: "mosquitto killed", Asked: true, Strike: kill(func(s *Site) *stack.Server { return s.Stack.Mosquitto })},
		{Name: "mariadbd killed", Asked: true, Strike: kill(func(s *Site) *stack.Server { return s.Stack.MariaDB })},
		{Name: "RocketMQ broker killed", Asked: true, Strike: kill(func(s *Site) *stack.Server { return s.Stack.Broker })},
		{Name: "RocketMQ namesrv killed", Asked: true, Strike: kill(func(s *Site) *stack.Server { return s.Stack.Namesrv })},
		{Name: "redis killed", Strike: kill(func(s *Site) *stack.Server { return s.Stack.Redis }), Forgets: true},
		{Name: "redis flushed", Strike: flush, Forgets: true},
		{Name: "redis killed, data lost", Strike: loseRedis, Forgets: true},
		{Name: "redis killed, older data", Strike: ageRedis, Forgets: true},
	}
}

// kill is a power cut of one part.
func kill(part func(*Site) *stack.Server) func(context.Context, *Site, time.Duration) error {
	return func(ctx context.Context, s *Site, down time.Duration) error {
		return powerCut(ctx, part(s), down, func() error { return nil })
	}
}

// powerCut kills, lets something happen to what is down, and starts again.
func powerCut(ctx context.Context, server *stack.Server, down time.Duration, meanwhile func() error) error {
	if server.PID() == 0 {
		return fmt.Errorf("drill: %s had ended before it was killed; its log is %s", server.Name(), server.Log())
	}
	if err := server.Kill(); err != nil {
		return err
	}
	if err := meanwhile(); err != nil {
		return err
	}
	select {
	case <-time.After(down):
	case <-ctx.Done():
	}
	return server.Start(ctx)
}

// killAgents kills the agents one after the other.
func killAgents(ctx context.Context, s *Site, down time.Duration) error {
	for _, c := range s.Plan.Cabinets {
		if err := powerCut(ctx, s.Agents[c], down/2, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// killOften does not wait for the service to be of use in between.
func killOften(ctx context.Context, s *Site, down time.Duration) error {
	for range 5 {
		if err := powerCut(ctx, s.Cloud, down/8, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// flush empties a Redis that runs on.
func flush(ctx context.Context, s *Site, _ time.Duration) error {
	return s.redis.FlushAll(ctx).Err()
}

// redisData is the folder of Redis's append-only files.
func (s *Site) redisData() string { return filepath.Join(s.Stack.Dir, "redis", "appendonlydir") }

// loseRedis starts Redis on an empty disk.
func loseRedis(ctx context.Context, s *Site, down time.Duration) error {
	return powerCut(ctx, s.Stack.Redis, down, func() error { return os.RemoveAll(s.redisData()) })
}

// ageRedis starts Redis on files that are a while old: it has gone back in time
// and does not know. Nobody has met the process that it now is, so every cabinet
// is fenced before the first connection to it is used.
func ageRedis(ctx context.Context, s *Site, down time.Duration) error {
	old := s.redisData() + ".old"
	if err := os.CopyFS(old, os.DirFS(s.redisData())); err != nil {
		return fmt.Errorf("drill: copy Redis's files: %w", err)
	}
	select {
	case <-time.After(2 * time.Second): // of orders that it will know nothing of
	case <-ctx.Done():
	}
	before, err := s.generations(ctx)
	if err != nil {
		return err
	}
	err = powerCut(ctx, s.Stack.Redis, down, func() error {
		if err := os.RemoveAll(s.redisData()); err != nil {
			return err
		}
		return os.Rename(old, s.redisData())
	})
	if err != nil {
		return err
	}
	return s.fenced(ctx, before)
}

// fenced waits until every cabinet's generation is another than before.
func (s *Site) fenced(ctx context.Context, before map[string]string) error {
	for {
		now, err := s.generations(ctx)
		same := ""
		for c, g := range before {
			if now[c] == g {
				same = c
			}
		}
		if err == nil && same == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drill: Redis went back in time and %s still sells from it (%v)", same, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Site) generations(ctx context.Context) (map[string]string, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	var st State
	err = readGenerations(ctx, tx, &st)
	return st.Generations, err
}
