// Package rocket carries the queue contract over RocketMQ 5.
//
// What the client library leaves to its user, and is done here: topics exist and
// are routed before anybody consumes (a consumer that comes first sits idle for
// 20 s); only SendOK counts as sent; every client has a name of its own (two
// with the same one take each other's queues); a new group starts at the oldest
// message; a panic in a handler is an error like any other; and closing lets
// handlers finish, which the library's Shutdown does not.
package rocket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// ErrClosed is returned by every method once Close was called.
var ErrClosed = errors.New("queue/rocket: closed")

// Options tune a queue; the zero value is ready to use.
type Options struct {
	Instance string        // part of the clients' names, for people; empty means the host's name
	Topics   []string      // created by Open if they are not there
	Queues   int           // of a topic that is created here, and so its shards; 0 means 4
	Workers  int           // handlers that one Receive runs at once; 0 means 8
	Batch    int           // most messages handed over together; 0 means 32
	Timeout  time.Duration // of one request to a broker; 0 means 3 s
	Log      *slog.Logger  // nil means slog.Default()
}

func (o Options) filled() Options {
	if o.Instance == "" {
		o.Instance, _ = os.Hostname()
	}
	if o.Queues <= 0 {
		o.Queues = 4
	}
	if o.Workers <= 0 {
		o.Workers = 8
	}
	if o.Batch <= 0 {
		o.Batch = 32
	}
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Queue is a queue.Sender, Receiver and Depther over a RocketMQ cluster. Safe
// for concurrent use.
type Queue struct {
	opt      Options
	servers  primitive.NamesrvAddr // as the library wants them: http://host:port
	producer sender
	clients  atomic.Int64 // named so far

	mu        sync.Mutex
	closed    bool
	receivers map[*receiver]bool
}

// sender is the part of the library's producer used here.
type sender interface {
	SendSync(ctx context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error)
	Shutdown() error
}

// Open creates the topics that are missing, trying again until ctx ends, and
// returns a queue that can send. namesrv is one or more addresses of name
// servers, separated by ';' or ','; "http://" before them is optional.
func Open(ctx context.Context, namesrv string, opt Options) (*Queue, error) {
	q := &Queue{opt: opt.filled(), receivers: map[*receiver]bool{}}
	logTo(q.opt.Log)
	for _, addr := range strings.FieldsFunc(namesrv, func(r rune) bool { return r == ';' || r == ',' }) {
		q.servers = append(q.servers, "http://"+strings.TrimPrefix(strings.TrimSpace(addr), "http://"))
	}
	if len(q.servers) == 0 {
		return nil, errors.New("queue/rocket: no name server is given")
	}
	for _, topic := range q.opt.Topics {
		if err := q.ensure(ctx, topic, q.opt.Queues); err != nil {
			return nil, err
		}
	}
	p, err := producer.NewDefaultProducer(
		producer.WithNameServer(q.servers),
		producer.WithGroupName("vendline-producer"),
		producer.WithInstanceName(q.name()),
		producer.WithQueueSelector(byShard{}),
		producer.WithSendMsgTimeout(q.opt.Timeout),
		producer.WithRetry(1),
		producer.WithCompressMsgBodyOverHowmuch(8<<20), // never: processor time is scarcer than loopback
	)
	if err != nil {
		return nil, fmt.Errorf("queue/rocket: producer: %w", err)
	}
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("queue/rocket: start producer: %w", err)
	}
	q.producer = p
	return q, nil
}

// name is a client's, unique among all processes.
func (q *Queue) name() string {
	return fmt.Sprintf("%s-%d-%s-%d", q.opt.Instance, os.Getpid(), rand.Text()[:6], q.clients.Add(1))
}

// Close stops all receivers, waits for their handlers, and disconnects.
func (q *Queue) Close() error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.closed = true
	all := make([]*receiver, 0, len(q.receivers))
	for r := range q.receivers {
		all = append(all, r)
	}
	q.mu.Unlock()
	var stops sync.WaitGroup
	for _, r := range all {
		stops.Go(r.stop)
	}
	stops.Wait()
	if err := q.producer.Shutdown(); err != nil {
		return fmt.Errorf("queue/rocket: close: %w", err)
	}
	return nil
}

func (q *Queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
