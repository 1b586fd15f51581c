// Package bolt is the embedded queue: one bbolt file in place of a RocketMQ
// broker, under the same contract and the same suite.
//
// Appends and acknowledgements of concurrent callers share one transaction, and
// so one fsync. Send returns after it, so an accepted message survives kill -9
// and a power cut. A message leaves the file when every group that ever
// received its topic has acknowledged it; freed pages are used again, so the
// file is as large as the largest backlog was.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"vendline/cloud/queue"
	"vendline/shared/group"
)

// ErrClosed is returned by every method once Close was called.
var ErrClosed = errors.New("queue/bolt: closed")

// Options tune a queue; the zero value is ready to use.
type Options struct {
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means slog.Default()
	Workers  int              // handlers that one Receive runs at once; 0 means 4
	Batch    int              // most messages handed over together; 0 means 32
	RetryMin time.Duration    // pause before a failed message comes again, doubled each time; 0 means 50 ms
	RetryMax time.Duration    // longest such pause; 0 means 5 s
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.Batch <= 0 {
		o.Batch = 32
	}
	if o.RetryMin <= 0 {
		o.RetryMin = 50 * time.Millisecond
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 5 * time.Second
	}
	return o
}

// Queue is a queue.Sender, Receiver and Depther over one file. Safe for
// concurrent use, by one process at a time.
type Queue struct {
	opt    Options
	db     *bbolt.DB
	writer *group.Group[op]
	kick   chan struct{} // a delayed message was written
	halt   chan struct{} // closed by Close
	idle   sync.WaitGroup

	mu     sync.Mutex
	topics map[string]*topic
	closed bool
	stops  map[*member]func()
}

// topic is what memory keeps of a topic: never its messages.
type topic struct {
	count  int64  // messages in the file that are due
	last   uint64 // newest id
	groups map[string]*readers
}

// Open opens or creates the queue at path. A damaged file is set aside and a
// fresh one started, which is logged as an error: the queue owns nothing, and
// whoever feeds it sends again what was not acknowledged.
func Open(path string, opt Options) (*Queue, error) {
	opt = opt.filled()
	db, err := openFile(path, opt)
	if err != nil {
		return nil, err
	}
	q := &Queue{
		opt: opt, db: db, kick: make(chan struct{}, 1), halt: make(chan struct{}),
		topics: map[string]*topic{}, stops: map[*member]func(){},
	}
	if err := q.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("queue/bolt: load %s: %w", path, err), db.Close())
	}
	q.writer = group.New(group.Options{Max: 512, Queue: 4096}, q.commit)
	q.idle.Go(q.promote)
	return q, nil
}

// Close stops all receivers, waits for their handlers and for writes under way,
// and closes the file.
func (q *Queue) Close() error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.closed = true
	stops := make([]func(), 0, len(q.stops))
	for _, stop := range q.stops {
		stops = append(stops, stop)
	}
	q.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	close(q.halt)
	q.idle.Wait()
	q.writer.Close()
	if err := q.db.Close(); err != nil {
		return fmt.Errorf("queue/bolt: close: %w", err)
	}
	return nil
}

// Send implements queue.Sender.
func (q *Queue) Send(ctx context.Context, msgs ...queue.Message) error {
	for _, m := range msgs {
		switch {
		case m.Topic == "":
			return errors.New("queue/bolt: send: message has no topic")
		case len(m.Body) > queue.MaxBody:
			return fmt.Errorf("queue/bolt: send: body of %d bytes, at most %d", len(m.Body), queue.MaxBody)
		}
	}
	if len(msgs) == 0 {
		return nil
	}
	return q.write(ctx, &op{send: msgs})
}

// Depth implements queue.Depther. Messages whose DeliverAt lies ahead do not
// count until they are due; the answer is from memory.
func (q *Queue) Depth(_ context.Context, name, groupName string) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, ErrClosed
	}
	t, ok := q.topics[name]
	if !ok {
		return 0, nil
	}
	g, ok := t.groups[groupName]
	if !ok {
		return t.count, nil
	}
	return t.count - g.acked, nil
}

func (q *Queue) write(ctx context.Context, o *op) error {
	err := q.writer.Do(ctx, o)
	if errors.Is(err, group.ErrClosed) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("queue/bolt: %w", err)
	}
	return nil
}
