// Package launch starts Vendline's own binaries beside the servers of a stack:
// for `vend up`, the bench and the drills.
package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"vendline/deploy/stack"
)

// Binaries are paths of what `make build` makes.
type Binaries struct{ Cloud, Edge string }

// Beside finds the binaries in dir.
func Beside(dir string) (Binaries, error) {
	b := Binaries{Cloud: filepath.Join(dir, "vend-cloud"), Edge: filepath.Join(dir, "vend-edge")}
	for _, p := range []string{b.Cloud, b.Edge} {
		if _, err := os.Stat(p); err != nil {
			return b, fmt.Errorf("%s is missing; `make build` makes it", p)
		}
	}
	return b, nil
}

// BesideSelf finds the binaries beside the running one.
func BesideSelf() (Binaries, error) {
	self, err := os.Executable()
	if err != nil {
		return Binaries{}, err
	}
	return Beside(filepath.Dir(self))
}

// CloudOptions say how vend-cloud is to run.
type CloudOptions struct {
	Name  string // of the process; also its instance
	HTTP  string // host:port; empty takes a free port
	DSN   string // of its database; empty means the stack's own
	Extra []string
	Env   []string

	At *stack.Description // where the servers are to be found; nil means where they are
}

// Cloud starts vend-cloud on the stack's servers and waits until it is ready.
func Cloud(ctx context.Context, s *stack.Stack, bin Binaries, o CloudOptions) (*stack.Server, error) {
	d, err := s.Description()
	if err != nil {
		return nil, err
	}
	if o.At != nil {
		d = o.At
	}
	if o.HTTP == "" {
		if o.HTTP, err = FreeAddr(); err != nil {
			return nil, err
		}
	}
	if o.DSN == "" {
		o.DSN = d.MySQLDSN
	}
	_, namesrv, _ := strings.Cut(d.RocketMQ, "://")
	return s.Add(ctx, stack.Process{
		Name: o.Name, Program: bin.Cloud, Addr: o.HTTP, Env: o.Env,
		Args: append([]string{
			"--http", o.HTTP, "--ledger", "mysql:" + o.DSN, "--stock", stock(d), "--queue", "rocketmq://" + namesrv,
			"--mqtt", d.MQTTURL, "--mqtt-user", d.MQTTUser, "--mqtt-password-file", d.MQTTPasswordFile, "--instance", o.Name,
		}, o.Extra...),
		Ready: func(ctx context.Context) error { return Answers(ctx, "http://"+o.HTTP+"/readyz") },
	})
}

// stock is where Redis is, however many servers it has.
func stock(d *stack.Description) string {
	if d.StockURL != "" {
		return d.StockURL
	}
	return "redis://" + d.RedisAddr
}

// AgentOptions say how an agent is to run.
type AgentOptions struct {
	Cabinet string
	Listen  string // empty takes a free port
	Data    string // folder of the outbox; empty means one in the stack's
	Extra   []string
	Env     []string
	MQTT    string // URL of the broker; empty means the stack's
}

// Agent starts vend-edge for a cabinet that the stack knows.
func Agent(ctx context.Context, s *stack.Stack, bin Binaries, o AgentOptions) (*stack.Server, error) {
	d, err := s.Description()
	if err != nil {
		return nil, err
	}
	password, ok := d.Cabinets[o.Cabinet]
	if !ok {
		return nil, fmt.Errorf("the stack has no password for cabinet %s", o.Cabinet)
	}
	if o.MQTT == "" {
		o.MQTT = d.MQTTURL
	}
	if o.Listen == "" {
		if o.Listen, err = FreeAddr(); err != nil {
			return nil, err
		}
	}
	if o.Data == "" {
		o.Data = filepath.Join(s.Dir, "cabinets", o.Cabinet)
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, err
	}
	secret := filepath.Join(o.Data, "mqtt-password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return nil, err
	}
	return s.Add(ctx, stack.Process{
		Name: "vend-edge-" + o.Cabinet, Program: bin.Edge, Addr: o.Listen, Env: o.Env,
		Args:  append([]string{"--cabinet", o.Cabinet, "--data", o.Data, "--listen", o.Listen, "--mqtt", o.MQTT, "--mqtt-password-file", secret}, o.Extra...),
		Ready: func(ctx context.Context) error { return Answers(ctx, "http://"+o.Listen+"/v1/health") },
	})
}

// Answers returns nil once a GET of url is answered with 200.
func Answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}

// FreeAddr returns a loopback address that was free a moment ago.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
