package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// letter is a message on its way to the dead letters.
type letter struct {
	topic, reason string
	payload       []byte
	event         wire.Event // what could be read of it
}

// unreadable is for a message that no retry will make readable. It is buried,
// and the cabinet told, if it can be told which of its rows that was. An order
// of which all but the wish can be read is told alone: nothing happened that
// anybody would have to look after.
func (in *Intake) unreadable(cabinet string, c wire.Channel, payload []byte, err error) {
	e, code := salvage(payload, err)
	known := e.ID != ""
	if !(known && c == wire.ChannelOrder && code == wire.CodeInvalidRequest && content(err)) {
		l := letter{topic: wire.Topic(cabinet, c), reason: string(code) + ": " + err.Error(), payload: payload, event: e}
		if !in.bury(l) {
			return
		}
	}
	if known {
		in.refuse(cabinet, e, &order.Refusal{Code: code, Detail: err.Error()})
	}
}

// content reports whether err is about what an order asks for, not about its envelope.
func content(err error) bool {
	var field *wire.FieldError
	return errors.As(err, &field) && (strings.HasPrefix(field.Path, "lines") || strings.HasPrefix(field.Path, "order"))
}

// bury makes a letter durable, and reports whether it is. If it is not, the
// cabinet will send the message again.
func (in *Intake) bury(l letter) bool {
	err := in.retry(func(ctx context.Context) error { return in.graves.bury(ctx, l) })
	if err != nil {
		in.giveUp("bury a dead letter", l.topic, l.event, err)
		return false
	}
	in.counts.buried.Add(1)
	return true
}

// salvage reads what names a message's row, leniently, since it is there only
// to refuse it; and says under which code. The event is empty if its row cannot
// be named.
func salvage(payload []byte, err error) (wire.Event, wire.Code) {
	var seen struct {
		V     *int64 `json:"v"`
		ID    string `json:"id"`
		Epoch string `json:"epoch"`
		Seq   int64  `json:"seq"`
	}
	// A field of a wrong type leaves the others readable; what follows the value is not looked at.
	var wrong *json.UnmarshalTypeError
	if e := json.NewDecoder(bytes.NewReader(payload)).Decode(&seen); e != nil && !errors.As(e, &wrong) {
		seen.ID = ""
	}
	code := wire.CodeInvalidRequest
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		code = wire.CodeTooLarge
	case seen.V != nil && *seen.V != wire.Version:
		code = wire.CodeUnsupported
	}
	if !wire.ValidID(seen.ID) || !wire.ValidID(seen.Epoch) || seen.Seq < 1 {
		return wire.Event{}, code
	}
	return wire.Event{ID: seen.ID, Epoch: seen.Epoch, Seq: seen.Seq}, code
}

// graves buries each letter once, as far as memory reaches: a cabinet that
// cannot be told which row to park sends it again and again.
type graves struct {
	letters DeadLetters
	mu      sync.Mutex
	known   map[[sha256.Size]byte]bool
	oldest  [][sha256.Size]byte
}

// remembered bounds how many letters graves knows.
const remembered = 4096

func newGraves(d DeadLetters) *graves {
	return &graves{letters: d, known: map[[sha256.Size]byte]bool{}}
}

func (g *graves) bury(ctx context.Context, l letter) error {
	sum := sha256.Sum256(append([]byte(l.topic+"\x00"), l.payload...))
	g.mu.Lock()
	known := g.known[sum]
	g.mu.Unlock()
	if known {
		return nil
	}
	meta := map[string]string{"topic": l.topic, "sha256": hex.EncodeToString(sum[:])}
	if cabinet, _, ok := wire.ParseTopic(l.topic); ok {
		meta["cabinet"] = cabinet
	}
	if l.event.ID != "" {
		meta["id"], meta["epoch"], meta["seq"] = l.event.ID, l.event.Epoch, strconv.FormatInt(l.event.Seq, 10)
	}
	if err := g.letters.Bury(ctx, "mqtt", l.reason, l.payload, meta); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known[sum] {
		g.known[sum] = true
		if g.oldest = append(g.oldest, sum); len(g.oldest) > remembered {
			delete(g.known, g.oldest[0])
			g.oldest = g.oldest[1:]
		}
	}
	return nil
}
