package outbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// Kind says what a row holds.
type Kind byte

// Kinds of rows.
const (
	KindOrder Kind = 'o'
	KindFact  Kind = 'f'
)

// Channel is the topic level that rows of this kind are published on.
func (k Kind) Channel() wire.Channel {
	if k == KindFact {
		return wire.ChannelFact
	}
	return wire.ChannelOrder
}

// Entry is what the firmware hands over: exactly one of Order and Fact.
type Entry struct {
	ID    string // lower-case UUID; the idempotency key
	At    int64  // device clock, Unix ms
	Order *wire.Order
	Fact  *wire.Fact
}

func (e Entry) kind() Kind {
	if e.Fact != nil {
		return KindFact
	}
	return KindOrder
}

func (e Entry) body() []byte {
	if e.Fact != nil {
		return wire.Encode(e.Fact)
	}
	return wire.Encode(e.Order)
}

// Row is an entry with its place in the outbox.
type Row struct {
	Seq int64
	Entry
	// Bad says why the row can not be sent (unreadable, a newer schema); the
	// entry is then empty, and the row is to be parked.
	Bad error
}

// Kind of the row.
func (r Row) Kind() Kind { return r.kind() }

// Row schemas. Rows of every schema below the current one are read for ever.
//
//	0  the whole wire.Event as JSON, as first deployed; starts with '{'
//	1  1, kind, id (16 bytes), at (varint), body as JSON, CRC-32C of it all
const rowSchema = 1

var (
	errChecksum = errors.New("checksum does not match: the bytes changed on disk")
	errShort    = errors.New("value is too short")
)

func encodeRow(e Entry) ([]byte, error) {
	id, ok := ident.Parse(e.ID)
	if !ok {
		return nil, fmt.Errorf("id %q is not a lower-case UUID", e.ID)
	}
	body := e.body()
	b := make([]byte, 0, 2+16+binary.MaxVarintLen64+len(body)+4)
	b = append(b, rowSchema, byte(e.kind()))
	b = append(b, id[:]...)
	b = binary.AppendVarint(b, e.At)
	b = append(b, body...)
	return seal(b), nil
}

// decodeRow never fails: what can not be read comes back with Bad set, because
// one bad row must be parked and not hold up the others.
func decodeRow(seq int64, v []byte) Row {
	e, err := decodeEntry(v)
	if err != nil {
		return Row{Seq: seq, Bad: err}
	}
	return Row{Seq: seq, Entry: e}
}

func decodeEntry(v []byte) (Entry, error) {
	if len(v) == 0 {
		return Entry{}, errShort
	}
	switch v[0] {
	case '{':
		return decodeRow0(v)
	case rowSchema:
		return decodeRow1(v)
	}
	return Entry{}, fmt.Errorf("row schema %d is not known to this build", v[0])
}

// decodeRow0 is lenient on purpose: an old row is delivered, and judged by the cloud.
func decodeRow0(v []byte) (Entry, error) {
	var ev wire.Event
	if err := json.Unmarshal(v, &ev); err != nil {
		return Entry{}, fmt.Errorf("schema 0: %w", err)
	}
	if _, ok := ident.Parse(ev.ID); !ok || (ev.Order == nil) == (ev.Fact == nil) {
		return Entry{}, errors.New("schema 0: no usable id or body")
	}
	return Entry{ID: ev.ID, At: ev.At, Order: ev.Order, Fact: ev.Fact}, nil
}

func decodeRow1(v []byte) (Entry, error) {
	b, err := unseal(v)
	if err != nil {
		return Entry{}, err
	}
	if len(b) < 2+16+1 {
		return Entry{}, errShort
	}
	e := Entry{ID: ident.Format([16]byte(b[2:18]))}
	at, n := binary.Varint(b[18:])
	if n <= 0 {
		return Entry{}, errShort
	}
	e.At = at
	var into any
	switch Kind(b[1]) {
	case KindOrder:
		e.Order = new(wire.Order)
		into = e.Order
	case KindFact:
		e.Fact = new(wire.Fact)
		into = e.Fact
	default:
		return Entry{}, fmt.Errorf("row kind %q is not known to this build", b[1])
	}
	if err := json.Unmarshal(b[18+n:], into); err != nil {
		return Entry{}, fmt.Errorf("schema 1: %w", err)
	}
	return e, nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // built once inside hash/crc32

// seal appends a checksum; unseal checks it and takes it off.
func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

func unseal(v []byte) ([]byte, error) {
	if len(v) < 4 {
		return nil, errShort
	}
	b, sum := v[:len(v)-4], binary.BigEndian.Uint32(v[len(v)-4:])
	if crc32.Checksum(b, castagnoli()) != sum {
		return nil, errChecksum
	}
	return b, nil
}
