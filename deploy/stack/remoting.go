package stack

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// RocketMQ's remoting protocol, as far as starting a stack needs it: one
// request and one response on a connection, headers in JSON. The Go client
// could ask the same, with background goroutines and a logger of its own.
const (
	codeCreateTopic   = 17
	codeRouteOfTopic  = 105
	codeClusterInfo   = 106
	codeBrokerConfig  = 25 // update the broker's settings
	codeNamesrvConfig = 319

	codeSuccess = 0
)

type remotingHeader struct {
	Code     int               `json:"code"`
	Language string            `json:"language"`
	Version  int               `json:"version"`
	Opaque   int               `json:"opaque"`
	Flag     int               `json:"flag"`
	Remark   string            `json:"remark,omitempty"`
	Fields   map[string]string `json:"extFields,omitempty"`
}

// remoting sends one request and returns the body of its successful response.
func remoting(ctx context.Context, addr string, code int, fields map[string]string, body string) ([]byte, error) {
	_, answer, err := remotingCall(ctx, addr, code, fields, body)
	return answer, err
}

// remotingCall sends one request and returns the fields and the body of its successful response.
func remotingCall(ctx context.Context, addr string, code int, fields map[string]string, body string) (map[string]string, []byte, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	deadline, limited := ctx.Deadline()
	if !limited {
		deadline = time.Now().Add(10 * time.Second)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, nil, err
	}
	header, err := json.Marshal(remotingHeader{Code: code, Language: "GO", Version: 317, Opaque: 1, Fields: fields})
	if err != nil {
		return nil, nil, err
	}
	// Total length, header length (whose high byte 0 means JSON), header, body.
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(append(frame, header...), body...)
	if _, err := conn.Write(frame); err != nil {
		return nil, nil, err
	}
	return remotingResponse(conn)
}

func remotingResponse(r io.Reader) (fields map[string]string, body []byte, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, nil, err
	}
	total := binary.BigEndian.Uint32(lengths[:4])
	size := binary.BigEndian.Uint32(lengths[4:]) & 0xffffff
	if total > 16<<20 || total < 4+size {
		return nil, nil, errors.New("what answers there does not speak RocketMQ's protocol")
	}
	rest := make([]byte, total-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, nil, err
	}
	var header remotingHeader
	if err := json.Unmarshal(rest[:size], &header); err != nil {
		return nil, nil, fmt.Errorf("header of the response: %w", err)
	}
	if header.Code != codeSuccess {
		return nil, nil, fmt.Errorf("response code %d: %s", header.Code, header.Remark)
	}
	return header.Fields, rest[size:], nil
}

// namesrvAnswers asks the name server for its settings, which name its home,
// so that somebody else's at the same port is not taken for ours.
func namesrvAnswers(ctx context.Context, addr, home string) error {
	config, err := remoting(ctx, addr, codeNamesrvConfig, nil, "")
	if err != nil {
		return err
	}
	if !bytes.Contains(config, []byte(home)) {
		return fmt.Errorf("another name server answers at %s", addr)
	}
	return nil
}

// brokerReady asks the broker whether it is there, and the name server whether it knows it.
func brokerReady(ctx context.Context, namesrv, name, addr, announced string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	conn.Close()
	info, err := remoting(ctx, namesrv, codeClusterInfo, nil, "")
	if err != nil {
		return err
	}
	if bytes.Contains(info, []byte(name)) && bytes.Contains(info, []byte(announced)) {
		return nil
	}
	// A broker may miss its first registration, when it has not yet found out
	// that the name server is there, and tries again only after 10 s. Told its
	// own permission (read and write), it registers at once.
	if _, err := remoting(ctx, addr, codeBrokerConfig, nil, "brokerPermission=6\n"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return errors.New("the broker is not registered at the name server")
}

// CreateTopic creates a topic, or sets its number of queues, and returns once
// the name server tells its route: a consumer started earlier would sit idle
// until its next rebalance, 20 s later.
func (d *Description) CreateTopic(ctx context.Context, topic string, queues int) error {
	n := strconv.Itoa(queues)
	_, err := remoting(ctx, d.RocketMQBroker, codeCreateTopic, map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": n, "writeQueueNums": n,
		"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}, "")
	if err != nil {
		return fmt.Errorf("stack: create topic %s: %w", topic, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	namesrv := d.RocketMQ[len("http://"):]
	for {
		_, err := remoting(ctx, namesrv, codeRouteOfTopic, map[string]string{"topic": topic}, "")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stack: no route to topic %s: %w", topic, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
