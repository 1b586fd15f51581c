package stack

import (
	"errors"
	"io"
	"path/filepath"
)

// Options says which servers to start, where, and how large.
type Options struct {
	// Dir holds everything: data, logs, secrets and stack.json. A folder that
	// already holds data is started again with it.
	Dir string

	Redis, MariaDB, Mosquitto, RocketMQ bool

	// RedisCluster and RedisSentinel, in the place of Redis, start several
	// redis-servers that fail over: see Stack.Nodes and Stack.Sentinels.
	RedisCluster, RedisSentinel bool

	// Ports are chosen free where they are 0.
	Ports Ports

	// Cabinets get a password at the MQTT broker from the start.
	Cabinets []string

	// BufferPool and RedoLog are InnoDB's sizes, e.g. "256M";
	// empty means 1G and 512M.
	BufferPool, RedoLog string

	// FlushDisk is RocketMQ's flushDiskType: ASYNC_FLUSH when empty, or SYNC_FLUSH.
	FlushDisk string

	// BrokerIP is the address that RocketMQ's broker announces to its clients,
	// 127.0.0.1 when empty: with another one of loopback, something may stand
	// between, at the broker's port.
	BrokerIP string

	// Volumes gives folders of Dir, such as "redis", a file system of their own of
	// so many bytes, so that it can be full. It takes the right to mount.
	Volumes map[string]int64

	// Install lets Start install missing programs, as root or through sudo.
	Install bool

	// Outlive leaves the servers running when this process ends, however it
	// ends. Without it they die with it, even by SIGKILL.
	Outlive bool

	// Log hears a line for each step; nil hears nothing.
	Log io.Writer
}

// Ports are TCP ports on 127.0.0.1. RocketMQ's broker also listens two below
// its own port, and one above it, where a standby would copy from.
type Ports struct {
	Redis, MariaDB, Mosquitto, Namesrv, Broker int
}

// FixedPorts are those of `make up`, away from the servers' usual ones.
func FixedPorts() Ports {
	return Ports{Redis: 16379, MariaDB: 13306, Mosquitto: 11883, Namesrv: 19876, Broker: 20911}
}

// All returns o with every server chosen.
func (o Options) All() Options {
	o.Redis, o.MariaDB, o.Mosquitto, o.RocketMQ = true, true, true, true
	return o
}

// completed fills in the defaults and makes Dir absolute.
func (o Options) completed() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("stack: Options.Dir is empty: name a folder for data and logs")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if o.BufferPool == "" {
		o.BufferPool = "1G"
	}
	if o.RedoLog == "" {
		o.RedoLog = "512M"
	}
	if o.FlushDisk == "" {
		o.FlushDisk = "ASYNC_FLUSH"
	}
	if o.BrokerIP == "" {
		o.BrokerIP = host
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	for _, id := range o.Cabinets {
		if err := checkCabinet(id); err != nil {
			return o, err
		}
	}
	return o, nil
}
