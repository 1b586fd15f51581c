package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// cloudUser is the MQTT user of vend-cloud; no cabinet may be called so.
const cloudUser = "cloud"

// startMosquitto starts the MQTT broker. A cabinet speaks under its own id
// only, and the broker's promises survive a power cut of about a second ago.
func (s *Stack) startMosquitto(ctx context.Context) error {
	program, err := find("mosquitto")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, "mosquitto")
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, "acl"), []byte(mosquittoACL)); err != nil {
		return fmt.Errorf("stack: configure mosquitto: %w", err)
	}
	passwords, err := addUsers(ctx, s.Dir, append([]string{cloudUser}, s.options.Cabinets...))
	if err != nil {
		return err
	}
	return onPort(ctx, "mosquitto", s.options.Ports.Mosquitto, nil, func(port int) error {
		file := filepath.Join(dir, "mosquitto.conf")
		if err := replaceFile(file, []byte(mosquittoConf(dir, port))); err != nil {
			return fmt.Errorf("stack: configure mosquitto: %w", err)
		}
		url := "tcp://" + address(port)
		server, err := s.server(Process{
			Name: "mosquitto", Program: program, Args: []string{"-c", file}, Dir: dir, Addr: address(port),
			Ready: func(ctx context.Context) error { return mqttAnswers(ctx, url, cloudUser, passwords[cloudUser]) },
		})
		if err != nil {
			return err
		}
		s.Mosquitto = server
		if err := server.Start(ctx); err != nil {
			return err
		}
		return edit(s.Dir, func(d *Description) error {
			d.MQTTURL, d.MQTTUser, d.MQTTPassword = url, cloudUser, passwords[cloudUser]
			d.MQTTPasswordFile = secretPath(s.Dir, "mqtt", cloudUser)
			return nil
		})
	})
}

// mosquittoACL: %u is the user's name, which is the cabinet's id.
const mosquittoACL = `user cloud
topic readwrite vend/v1/#
topic read $SYS/#

pattern write vend/v1/%u/order
pattern write vend/v1/%u/fact
pattern write vend/v1/%u/beat
pattern write vend/v1/%u/state
pattern write vend/v1/%u/ask
pattern read vend/v1/%u/verdict
pattern read vend/v1/%u/ack
pattern read vend/v1/%u/command
`

func mosquittoConf(dir string, port int) string {
	user := ""
	if os.Geteuid() == 0 {
		user = "user root"
	}
	return fmt.Sprintf(`# Written at every start.
%s
listener %d 127.0.0.1
set_tcp_nodelay true
allow_anonymous false
password_file %s/passwords
acl_file %s/acl

# Saved every second: without this a PUBACK is worth nothing after a power cut.
# Saved at every change instead, the broker passes 230 orders a second, not 2,500;
# and a cabinet keeps what it sent until the cloud's own answer in any case.
persistence true
persistence_location %s/data/
autosave_on_changes false
autosave_interval 1

max_inflight_messages 1000
max_queued_messages 1000000
max_packet_size 1048576

log_dest stderr
log_type error
log_type warning
log_type notice
log_timestamp_format %%Y-%%m-%%dT%%H:%%M:%%S
`, user, port, dir, dir, dir)
}

// mqttAnswers connects and leaves again.
func mqttAnswers(ctx context.Context, url, user, password string) error {
	options := mqtt.NewClientOptions().AddBroker(url).SetUsername(user).SetPassword(password).
		SetConnectTimeout(2 * time.Second).SetAutoReconnect(false).SetConnectRetry(false)
	client := mqtt.NewClient(options)
	defer client.Disconnect(0)
	token := client.Connect()
	select {
	case <-token.Done():
		return token.Error()
	case <-ctx.Done():
		return ctx.Err()
	}
}
