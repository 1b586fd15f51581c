package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Stack is a set of running servers. Those that were not chosen are nil.
type Stack struct {
	Dir string

	Redis, MariaDB, Mosquitto *Server

	// Namesrv and Broker are RocketMQ. A name server that was started again
	// answers at once but knows the broker only after up to 10 s.
	Namesrv, Broker *Server

	// Nodes are the redis-servers of a cluster, masters first as it was created, or
	// the first master and its replicas that Sentinels watch.
	Nodes, Sentinels []*Server

	options Options
	volumes *volumes

	mu    sync.Mutex
	extra []*Server
}

// logFolder, within a stack's folder, has one log per process.
const logFolder = "log"

// ErrRunning says that a stack already runs in that folder.
var ErrRunning = errors.New("stack: already running")

// Start starts the chosen servers in parallel and returns when each of them
// truly answers. On an error none is left running; their logs stay.
func Start(ctx context.Context, o Options) (*Stack, error) {
	o, err := o.completed()
	if err != nil {
		return nil, err
	}
	if err := requirePrograms(ctx, o); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, logFolder), 0o700); err != nil {
		return nil, fmt.Errorf("stack: folder: %w", err)
	}
	if err := claim(o.Dir); err != nil {
		return nil, err
	}
	s := &Stack{Dir: o.Dir, options: o}
	if s.volumes, err = mountVolumes(o.Dir, o.Volumes); err != nil {
		return nil, err
	}
	starts, ctx := errgroup.WithContext(ctx)
	start := func(chosen bool, name string, run func(context.Context) error, servers ...**Server) {
		if !chosen {
			return
		}
		starts.Go(func() error {
			begin := time.Now()
			if err := run(ctx); err != nil {
				return fmt.Errorf("start %s: %w", name, err)
			}
			for _, server := range servers {
				fmt.Fprintf(o.Log, "%-10s %-16s pid %-7d %.1f s\n", (*server).Name(), (*server).Addr(), (*server).PID(), time.Since(begin).Seconds())
			}
			return nil
		})
	}
	start(o.Redis, "redis", s.startRedis, &s.Redis)
	start(o.RedisCluster, "redis cluster", s.startRedisCluster)
	start(o.RedisSentinel, "redis with sentinels", s.startRedisSentinel)
	start(o.MariaDB, "mariadb", s.startMariaDB, &s.MariaDB)
	start(o.Mosquitto, "mosquitto", s.startMosquitto, &s.Mosquitto)
	start(o.RocketMQ, "rocketmq", s.startRocketMQ, &s.Namesrv, &s.Broker)
	if err := starts.Wait(); err != nil {
		return nil, errors.Join(err, s.Kill(), s.volumes.unmount())
	}
	return s, nil
}

// claim makes sure that no other stack runs in dir, and forgets the one that did.
func claim(dir string) error {
	old, err := Load(descriptionPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return edit(dir, func(*Description) error { return nil })
	}
	if err != nil {
		return err
	}
	for _, r := range old.Processes {
		if r.Alive() {
			return fmt.Errorf("%w in %s: %s has pid %d (`vend stack down --dir %s`)", ErrRunning, dir, r.Name, r.PID, dir)
		}
	}
	return edit(dir, func(d *Description) error { *d = Description{Dir: dir}; return nil })
}

// Add starts another program beside the servers, such as vend-cloud: with a
// log of its own, recorded in stack.json, and stopped before them.
func (s *Stack) Add(ctx context.Context, p Process) (*Server, error) {
	program, err := find(p.Program)
	if err != nil {
		return nil, fmt.Errorf("stack: %s: program not found: %w", p.Name, err)
	}
	p.Program = program
	if p.Dir == "" {
		p.Dir = s.Dir
	}
	server, err := s.server(p)
	if err != nil {
		return nil, err
	}
	server.extra = true
	s.mu.Lock()
	s.extra = append(s.extra, server)
	s.mu.Unlock()
	return server, server.Start(ctx)
}

// server describes a process of this stack, not yet started.
func (s *Stack) server(p Process) (*Server, error) {
	if p.Name == "" || filepath.Base(p.Name) != p.Name {
		return nil, fmt.Errorf("stack: %q is no name for a process", p.Name)
	}
	return &Server{
		process: p,
		logPath: filepath.Join(s.Dir, logFolder, p.Name+".log"),
		outlive: s.options.Outlive,
		record:  func(r Record) error { return edit(s.Dir, func(d *Description) error { d.put(r); return nil }) },
	}, nil
}

// Servers lists what was started: the servers, then what was added.
func (s *Stack) Servers() []*Server {
	var all []*Server
	for _, server := range []*Server{s.Redis, s.MariaDB, s.Mosquitto, s.Namesrv, s.Broker} {
		if server != nil {
			all = append(all, server)
		}
	}
	all = append(append(all, s.Nodes...), s.Sentinels...)
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(all, s.extra...)
}

// Description reads stack.json as it is now.
func (s *Stack) Description() (*Description, error) { return Load(descriptionPath(s.Dir)) }

// Env is the environment variable under which a child process finds this stack.
func (s *Stack) Env() string { return EnvName + "=" + descriptionPath(s.Dir) }

// AddCabinets is [Description.AddCabinets] of this stack.
func (s *Stack) AddCabinets(ctx context.Context, ids ...string) (map[string]string, error) {
	d, err := s.Description()
	if err != nil {
		return nil, err
	}
	return d.AddCabinets(ctx, ids...)
}
