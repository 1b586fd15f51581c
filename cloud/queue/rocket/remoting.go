package rocket

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The client library asks brokers and name servers too, but its admin part
// ignores the response's code and cannot ask for offsets. These requests are
// few; this is as much of the remoting protocol as they need.
const (
	askConsumerOffset = 14
	askCreateTopic    = 17
	askMaxOffset      = 30
	askMinOffset      = 31
	askRoute          = 105
	askCluster        = 106

	codeTopicNotExist = 17
	codeNotFound      = 22
)

// maxResponse bounds a response, in bytes.
const maxResponse = 16 << 20

// codeError is a response that says no.
type codeError struct {
	code   int
	remark string
}

func (e *codeError) Error() string {
	remark, _, _ := strings.Cut(e.remark, "\n")
	return fmt.Sprintf("response code %d: %s", e.code, remark)
}

func hasCode(err error, code int) bool {
	var e *codeError
	return errors.As(err, &e) && e.code == code
}

type header struct {
	Code     int               `json:"code"`
	Language string            `json:"language"`
	Version  int               `json:"version"`
	Opaque   int               `json:"opaque"`
	Flag     int               `json:"flag"`
	Remark   string            `json:"remark,omitempty"`
	Fields   map[string]string `json:"extFields,omitempty"`
}

// line is a connection to a broker or name server, for one request at a time.
type line struct {
	conn   net.Conn
	opaque int
}

func dial(ctx context.Context, addr string) (*line, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(addr, "http://"))
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(10 * time.Second)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &line{conn: conn}, nil
}

func (l *line) close() { _ = l.conn.Close() }

// ask sends a request and returns the fields and body of its response, or a
// *codeError.
func (l *line) ask(code int, fields map[string]string) (map[string]string, []byte, error) {
	l.opaque++
	h, err := json.Marshal(header{Code: code, Language: "GO", Version: 317, Opaque: l.opaque, Fields: fields})
	if err != nil {
		return nil, nil, err
	}
	// Total length, header length (its high byte 0 means JSON), header; no body.
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(h)))
	if _, err := l.conn.Write(append(frame, h...)); err != nil {
		return nil, nil, err
	}
	var lengths [8]byte
	if _, err := io.ReadFull(l.conn, lengths[:]); err != nil {
		return nil, nil, err
	}
	total, size := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])&0xffffff
	if total > maxResponse || total < 4+size {
		return nil, nil, errors.New("what answers there does not speak RocketMQ's protocol")
	}
	rest := make([]byte, total-4)
	if _, err := io.ReadFull(l.conn, rest); err != nil {
		return nil, nil, err
	}
	var answer header
	if err := json.Unmarshal(rest[:size], &answer); err != nil {
		return nil, nil, fmt.Errorf("header of the response: %w", err)
	}
	if answer.Opaque != l.opaque {
		return nil, nil, errors.New("the response is to another request")
	}
	if answer.Code != 0 {
		return nil, nil, &codeError{answer.Code, answer.Remark}
	}
	return answer.Fields, rest[size:], nil
}
