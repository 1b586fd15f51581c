// Package stackcmd has the commands that start and stop the real servers:
//
//	vend stack up | down | status | run -- command …
//
// Each is a struct for kong, with a Run method, and says what it does on
// standard error; only status answers on standard output.
package stackcmd

import (
	"fmt"

	"vendline/deploy/stack"
)

// Stack groups the commands, to be a field with the tag cmd:"" of kong's grammar.
type Stack struct {
	Up     Up     `cmd:"" help:"Start redis, mariadb, mosquitto and rocketmq on loopback and keep their data."`
	Down   Down   `cmd:"" help:"Stop what 'up' started."`
	Status Status `cmd:"" help:"Tell what runs, and where."`
	Run    Run    `cmd:"" help:"Run a command with servers of its own, and leave none."`
}

// Servers says which servers, and how large.
type Servers struct {
	Only       []string `help:"Start only these (redis, redis-cluster, redis-sentinel, mariadb, mosquitto, rocketmq)." enum:"redis,redis-cluster,redis-sentinel,mariadb,mosquitto,rocketmq" placeholder:"NAME,…"`
	Cabinets   []string `help:"Cabinets that may connect to the MQTT broker." default:"C001,C002" placeholder:"ID,…"`
	BufferPool string   `help:"InnoDB's buffer pool." default:"256M" placeholder:"SIZE"`
	RedoLog    string   `help:"InnoDB's redo log." default:"128M" placeholder:"SIZE"`
	Install    bool     `help:"Install missing programs (as root, or through sudo)."`
}

func (s Servers) options() stack.Options {
	o := stack.Options{Cabinets: s.Cabinets, BufferPool: s.BufferPool, RedoLog: s.RedoLog, Install: s.Install}
	if len(s.Only) == 0 {
		return o.All()
	}
	for _, name := range s.Only {
		switch name {
		case "redis":
			o.Redis = true
		case "redis-cluster":
			o.RedisCluster = true
		case "redis-sentinel":
			o.RedisSentinel = true
		case "mariadb":
			o.MariaDB = true
		case "mosquitto":
			o.Mosquitto = true
		case "rocketmq":
			o.RocketMQ = true
		}
	}
	return o
}

// ExitError carries a command's exit code to kong's FatalIfErrorf.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ExitCode is what the process should end with.
func (e ExitError) ExitCode() int { return e.Code }
