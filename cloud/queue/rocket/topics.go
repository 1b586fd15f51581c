package rocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// place is one queue of a topic.
type place struct {
	broker string // host:port of the master
	queue  int
}

// ensure creates a topic on every broker unless it is there, and returns once
// the name server tells its route. It tries again, ever less often, until ctx
// ends.
func (q *Queue) ensure(ctx context.Context, topic string, queues int) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		places, err := q.route(ctx, topic)
		if err == nil && len(places) > 0 {
			return nil
		}
		if hasCode(err, codeTopicNotExist) {
			err = q.create(ctx, topic, queues)
		}
		if err == nil {
			err = errors.New("not routed yet")
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("queue/rocket: topic %s: %w (last: %w)", topic, ctx.Err(), err)
		}
	}
}

func (q *Queue) create(ctx context.Context, topic string, queues int) error {
	brokers, err := q.brokers(ctx)
	if err != nil {
		return err
	}
	n := strconv.Itoa(queues)
	for _, addr := range brokers {
		err := q.with(ctx, addr, func(l *line) error {
			_, _, err := l.ask(askCreateTopic, map[string]string{
				"topic": topic, "defaultTopic": "TBW102", "readQueueNums": n, "writeQueueNums": n,
				"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("create it at %s: %w", addr, err)
		}
	}
	return nil
}

// route lists the queues of a topic that can be read.
func (q *Queue) route(ctx context.Context, topic string) ([]place, error) {
	var table struct {
		Brokers []struct {
			Name  string            `json:"brokerName"`
			Addrs map[string]string `json:"brokerAddrs"`
		} `json:"brokerDatas"`
		Queues []struct {
			Broker string `json:"brokerName"`
			Read   int    `json:"readQueueNums"`
		} `json:"queueDatas"`
	}
	if err := q.askNameServer(ctx, askRoute, map[string]string{"topic": topic, "acceptStandardJsonOnly": "true"}, &table); err != nil {
		return nil, err
	}
	var places []place
	for _, queues := range table.Queues {
		for _, b := range table.Brokers {
			if master := b.Addrs["0"]; b.Name == queues.Broker && master != "" {
				for i := range queues.Read {
					places = append(places, place{master, i})
				}
			}
		}
	}
	return places, nil
}

// brokers lists the masters of the cluster.
func (q *Queue) brokers(ctx context.Context) ([]string, error) {
	var table struct {
		Brokers map[string]struct {
			Addrs map[string]string `json:"brokerAddrs"`
		} `json:"brokerAddrTable"`
	}
	if err := q.askNameServer(ctx, askCluster, nil, &table); err != nil {
		return nil, err
	}
	var masters []string
	for _, b := range table.Brokers {
		if b.Addrs["0"] != "" {
			masters = append(masters, b.Addrs["0"])
		}
	}
	if len(masters) == 0 {
		return nil, errors.New("the name server knows no broker")
	}
	slices.Sort(masters)
	return masters, nil
}

// bareKey finds the numeric keys that RocketMQ's JSON has without quotes.
var bareKey = regexp.MustCompile(`([{,])(\d+):`)

// askNameServer asks one after the other until one answers.
func (q *Queue) askNameServer(ctx context.Context, code int, fields map[string]string, answer any) error {
	var errs []error
	for _, addr := range q.servers {
		var body []byte
		err := q.with(ctx, addr, func(l *line) (err error) {
			_, body, err = l.ask(code, fields)
			return err
		})
		if err == nil {
			return json.Unmarshal(bareKey.ReplaceAll(body, []byte(`$1"$2":`)), answer)
		}
		if errs = append(errs, fmt.Errorf("name server %s: %w", addr, err)); hasCode(err, codeTopicNotExist) {
			break
		}
	}
	return errors.Join(errs...)
}

func (q *Queue) with(ctx context.Context, addr string, do func(*line) error) error {
	ctx, cancel := context.WithTimeout(ctx, q.opt.Timeout)
	defer cancel()
	l, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer l.close()
	return do(l)
}
