package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

type flags struct {
	Cabinet          string           `required:"" env:"VENDLINE_EDGE_CABINET" help:"Which cabinet this is: 1 to 32 of [A-Za-z0-9_-]."`
	Data             string           `required:"" env:"VENDLINE_EDGE_DATA" placeholder:"DIR" help:"Folder of the outbox."`
	Listen           string           `default:"127.0.0.1:7001" env:"VENDLINE_EDGE_LISTEN" help:"Local API: a loopback host:port, or unix:/path."`
	ListenAnywhere   bool             `env:"VENDLINE_EDGE_LISTEN_ANYWHERE" help:"Allow --listen beyond this machine. Whoever reaches the API can sell."`
	MQTT             string           `name:"mqtt" default:"tcp://127.0.0.1:1883" env:"VENDLINE_EDGE_MQTT" help:"Broker: tcp://host:1883 or ssl://host:8883."`
	MQTTUser         string           `name:"mqtt-user" env:"VENDLINE_EDGE_MQTT_USER" help:"User at the broker; the cabinet if not given."`
	MQTTPasswordFile string           `name:"mqtt-password-file" env:"VENDLINE_EDGE_MQTT_PASSWORD_FILE" placeholder:"FILE" help:"File with the password for the broker."`
	Beat             time.Duration    `default:"15s" env:"VENDLINE_EDGE_BEAT" help:"How often to tell the cloud how we are."`
	MaxSize          size             `default:"256MiB" env:"VENDLINE_EDGE_MAX_SIZE" help:"Most bytes the outbox file may take; new orders are refused at 80 %."`
	Window           int              `default:"256" env:"VENDLINE_EDGE_WINDOW" help:"Most events sent and not yet answered."`
	Log              string           `enum:"json,text" default:"text" env:"VENDLINE_EDGE_LOG" help:"Log format: json or text."`
	Version          kong.VersionFlag `help:"Print the version and exit."`
}

// size is a number of bytes, written as 256MiB, 1GiB, 64KiB or plain bytes.
type size int64

// UnmarshalText reads a size.
func (s *size) UnmarshalText(text []byte) error {
	digits, unit := string(text), int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}} {
		if d, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = d, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size such as 256MiB", text)
	}
	*s = size(n * unit)
	return nil
}
