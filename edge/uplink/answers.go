package uplink

import (
	"context"
	"errors"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// letter is a message that came down, with the channel it came on.
type letter struct {
	channel wire.Channel
	msg     mqtt.Message
}

// settleAtOnce bounds the answers that share one transaction.
const settleAtOnce = 256

// routes are the topics of our own cabinet that come down.
func (u *Uplink) routes() map[string]mqtt.MessageHandler {
	routes := make(map[string]mqtt.MessageHandler)
	for _, c := range []wire.Channel{wire.ChannelVerdict, wire.ChannelAck, wire.ChannelCommand} {
		routes[wire.Topic(u.cfg.Cabinet, c)] = func(_ mqtt.Client, m mqtt.Message) { u.receive(letter{c, m}) }
	}
	return routes
}

// receive hands a message on and never blocks: paho calls it on the goroutine that
// reads, in the order in which messages come. When too much comes at once the message is acknowledged and
// dropped. Nothing is lost by that: its rows are still here, and are sent again
// until an answer to them is stored.
func (u *Uplink) receive(l letter) {
	u.debt.heard()
	select {
	case u.inbox <- l:
	default:
		u.overflow.Add(1)
		go l.msg.Ack() // it may wait for the writer, and the reader must not
	}
}

// settle stores answers as they come, many in one transaction, until ctx ends.
func (u *Uplink) settle(ctx context.Context) {
	batch := make([]letter, 0, settleAtOnce)
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-u.inbox:
			batch = append(batch[:0], l)
		}
		for more := true; more && len(batch) < settleAtOnce; {
			select {
			case l := <-u.inbox:
				batch = append(batch, l)
			default:
				more = false
			}
		}
		u.settleBatch(ctx, batch)
	}
}

// settleBatch stores what batch answers, then acknowledges it to the broker.
// Should storing fail, it is acknowledged all the same: an unacknowledged
// message holds a place in the broker's in-flight window until we reconnect,
// while our rows, still here, ask for a new answer by themselves.
//
// What the cloud said first takes effect first: a grant of stock is read by which
// sales were acknowledged before it.
func (u *Uplink) settleBatch(ctx context.Context, batch []letter) {
	var answers []outbox.Answer
	var failed error
	for _, l := range batch {
		if l.channel == wire.ChannelCommand && len(answers) > 0 {
			failed = errors.Join(failed, u.store(ctx, answers))
			answers = nil
		}
		found, err := u.read(ctx, l)
		if err != nil {
			u.cfg.Log.Warn("message from the cloud ignored", "topic", l.msg.Topic(), "err", err)
		}
		answers = append(answers, found...)
	}
	failed = errors.Join(failed, u.store(ctx, answers))
	if ctx.Err() == nil || failed == nil {
		for _, l := range batch {
			l.msg.Ack()
		}
	}
}

func (u *Uplink) store(ctx context.Context, answers []outbox.Answer) error {
	if err := u.box.Settle(ctx, answers); err != nil {
		if ctx.Err() == nil {
			u.cfg.Log.Error("answers not stored; their rows will be sent again", "answers", len(answers), "err", err)
		}
		return err
	}
	u.settled(answers)
	u.nudge()
	return nil
}

// settled takes rows out of the window that are gone from the outbox. An answer
// that names another row's id has settled nothing, and its row must stay in the
// window: it is still to be sent, and a barrier behind it still has to wait.
func (u *Uplink) settled(answers []outbox.Answer) {
	for _, a := range answers {
		_, waiting, err := u.box.Row(a.Seq)
		if err != nil || waiting {
			continue
		}
		u.forget(a.Seq)
	}
}

// read decodes a message. Answers that settle rows are returned; a verdict that
// says "later" puts its row off, and a command goes to whoever follows it.
func (u *Uplink) read(ctx context.Context, l letter) ([]outbox.Answer, error) {
	switch l.channel {
	case wire.ChannelVerdict:
		return u.readVerdict(l.msg.Payload())
	case wire.ChannelAck:
		return u.readAck(l.msg.Payload())
	}
	var c wire.Command
	if err := u.decode(l.msg.Payload(), &c, &c.V, &c.Cabinet); err != nil {
		return nil, err
	}
	u.cfg.Command(ctx, c)
	return nil, nil
}

func (u *Uplink) readVerdict(data []byte) ([]outbox.Answer, error) {
	var v wire.Verdict
	if err := u.decode(data, &v, &v.V, &v.Cabinet); err != nil {
		return nil, err
	}
	switch {
	case v.Code == "":
		return nil, errors.New("verdict without a code")
	case v.Epoch != u.box.Epoch():
		return nil, nil // of an outbox that is no more: nothing waits for it
	case v.Code.Retryable():
		u.mu.Lock()
		u.window.hold(v.Seq, v.Code, v.Detail, u.cfg.Mono())
		u.mu.Unlock()
		u.nudge()
		return nil, nil
	}
	return []outbox.Answer{{Seq: v.Seq, Verdict: &v}}, nil
}

func (u *Uplink) readAck(data []byte) ([]outbox.Answer, error) {
	var a wire.Ack
	if err := u.decode(data, &a, &a.V, &a.Cabinet); err != nil {
		return nil, err
	}
	if a.Epoch != u.box.Epoch() {
		return nil, nil
	}
	answers := make([]outbox.Answer, len(a.Seqs))
	for i, seq := range a.Seqs {
		answers[i].Seq = seq
	}
	return answers, nil
}

// decode reads a message into v, whose version and cabinet fields are given.
func (u *Uplink) decode(data []byte, v any, version *int, cabinet *string) error {
	if err := wire.Decode(data, wire.MaxMessage, v); err != nil {
		return err
	}
	if *version != wire.Version {
		return errors.New("unknown version")
	}
	if *cabinet != u.cfg.Cabinet {
		return errors.New("for another cabinet")
	}
	return nil
}
