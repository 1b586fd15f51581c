package drill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/go-sql-driver/mysql"
	"github.com/rs/zerolog"

	"vendline/deploy/stack"
)

// Link is a line between two parts of a site. All their traffic goes through a
// proxy in the drill's own process, where toxics can be put into it.
type Link struct {
	Name  string
	hello []byte // that the far end answers; empty where it speaks first

	proxy *toxiproxy.Proxy
}

// Names of links. The broker of RocketMQ announces another address of loopback
// than it listens at; the proxy stands there.
const (
	linkAgent   = "agent–mosquitto"
	linkIntake  = "cloud–mosquitto"
	linkLedger  = "cloud–mariadb"
	linkStock   = "cloud–redis"
	linkNamesrv = "cloud–namesrv"
	linkBroker  = "cloud–broker"
	linkPhone   = "phone–cloud"
)

// linkNames are in the order in which they are made slow.
func linkNames() []string {
	return []string{linkAgent, linkIntake, linkLedger, linkStock, linkNamesrv, linkBroker, linkPhone}
}

// announcedIP is where clients find the broker.
const announcedIP = "127.0.0.2"

// Links are all of a site.
type Links struct {
	server *toxiproxy.ApiServer
	all    map[string]*Link
}

func newLinks() *Links {
	zerolog.SetGlobalLevel(zerolog.Disabled) // its toxics trace every byte to the library's own logger
	return &Links{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), all: map[string]*Link{}}
}

// open puts a proxy before addr, at a free port or at the one given, and
// returns its address.
func (l *Links) open(name, at, addr string, hello []byte) (string, error) {
	p := toxiproxy.NewProxy(l.server, name, at, addr)
	if err := p.Start(); err != nil {
		return "", fmt.Errorf("drill: proxy of %s: %w", name, err)
	}
	l.all[name] = &Link{Name: name, hello: hello, proxy: p}
	return p.Listen, nil
}

func (l *Links) close() {
	for _, link := range l.all {
		link.proxy.Stop()
	}
}

// between opens the links of vend-cloud and the agents to the servers, and
// returns where vend-cloud, and where the agents' MQTT, is to go.
func (l *Links) between(d *stack.Description) (at *stack.Description, agents string, err error) {
	through := *d
	free := net.JoinHostPort("127.0.0.1", "0")
	_, mqttAddr, _ := strings.Cut(d.MQTTURL, "://")
	_, namesrv, _ := strings.Cut(d.RocketMQ, "://")
	_, brokerPort, err := net.SplitHostPort(d.RocketMQBroker)
	if err != nil {
		return nil, "", err
	}
	dsn, err := mysql.ParseDSN(d.MySQLDSN)
	if err != nil {
		return nil, "", err
	}
	subscribe, err := mqttHello(d.MQTTUser, d.MQTTPassword)
	if err != nil {
		return nil, "", err
	}
	var mqttAt, agentsAt, namesrvAt string
	for _, o := range []struct {
		name, at, addr string
		hello          []byte
		into           *string
	}{
		{linkAgent, free, mqttAddr, subscribe, &agentsAt},
		{linkIntake, free, mqttAddr, subscribe, &mqttAt},
		{linkLedger, free, dsn.Addr, nil, &dsn.Addr},
		{linkStock, free, d.RedisAddr, redisHello(), &through.RedisAddr},
		{linkNamesrv, free, namesrv, remotingHello(106), &namesrvAt},
		{linkBroker, net.JoinHostPort(announcedIP, brokerPort), d.RocketMQBroker, remotingHello(28), new(string)},
	} {
		if *o.into, err = l.open(o.name, o.at, o.addr, o.hello); err != nil {
			return nil, "", err
		}
	}
	through.MySQLDSN, through.MQTTURL, through.RocketMQ = dsn.FormatDSN(), "tcp://"+mqttAt, "http://"+namesrvAt
	return &through, "tcp://" + agentsAt, nil
}

// heard is what came back over a connection of its own.
type heard struct {
	bytes       int
	first, last time.Duration // since the hello was sent
	err         error         // that ended it: a time limit, or the far end
}

// silence ends an answer.
const silence = 400 * time.Millisecond

// hear says hello and listens: for the first byte as long as told, then until
// there is silence.
func hear(ctx context.Context, addr string, hello []byte, wait time.Duration) heard {
	conn, err := (&net.Dialer{Timeout: wait}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return heard{err: err}
	}
	defer conn.Close()
	began := time.Now()
	if _, err := conn.Write(hello); err != nil {
		return heard{err: err}
	}
	var h heard
	buf := make([]byte, 4096)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			h.err = err
			return h
		}
		n, err := conn.Read(buf)
		if n > 0 {
			h.last = time.Since(began)
			if h.bytes == 0 {
				h.first = h.last
			}
			h.bytes += n
			wait = silence
		}
		if err != nil {
			h.err = err
			return h
		}
	}
}

// timedOut reports whether nobody said anything, not even no.
func (h heard) timedOut() bool {
	var n net.Error
	return errors.As(h.err, &n) && n.Timeout()
}

func redisHello() []byte {
	return fmt.Appendf(nil, "*2\r\n$4\r\nECHO\r\n$200\r\n%s\r\n", strings.Repeat("x", 200))
}

func httpHello(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: drill\r\n\r\n")
}

// remotingHello is a request of RocketMQ's protocol that has no fields.
func remotingHello(code int) []byte {
	header := encode(map[string]any{"code": code, "flag": 0, "language": "GO", "opaque": 1, "serializeTypeCurrentRPC": "JSON", "version": 399})
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	return append(frame, header...)
}

// mqttHello connects and asks for the broker's own figures, which it retains.
func mqttHello(user, password string) ([]byte, error) {
	connect := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	connect.ProtocolName, connect.ProtocolVersion, connect.CleanSession, connect.Keepalive = "MQTT", 4, true, 30
	connect.UsernameFlag, connect.Username, connect.PasswordFlag, connect.Password = true, user, true, []byte(password)
	subscribe := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	subscribe.MessageID, subscribe.Topics, subscribe.Qoss = 1, []string{"$SYS/broker/#"}, []byte{0}
	var b bytes.Buffer
	if err := errors.Join(connect.Write(&b), subscribe.Write(&b)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
