package bolt

import (
	"encoding/binary"
	"errors"

	"vendline/cloud/queue"
)

// recordV1 starts every stored message, so that a later build can tell.
const recordV1 = 1

// encode lays a message out as version, shard, key, body; the topic is its bucket.
func encode(m queue.Message) []byte {
	b := make([]byte, 0, 2+2*binary.MaxVarintLen64+len(m.Key)+len(m.Body))
	b = append(b, recordV1)
	b = binary.AppendVarint(b, int64(m.Shard))
	b = binary.AppendUvarint(b, uint64(len(m.Key)))
	b = append(b, m.Key...)
	return append(b, m.Body...)
}

// decode copies a message out of a transaction's memory.
func decode(topic string, b []byte) (queue.Message, error) {
	bad := errors.New("stored message is not readable")
	if len(b) == 0 || b[0] != recordV1 {
		return queue.Message{}, bad
	}
	b = b[1:]
	shard, n := binary.Varint(b)
	if n <= 0 {
		return queue.Message{}, bad
	}
	b = b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return queue.Message{}, bad
	}
	b = b[n:]
	return queue.Message{Topic: topic, Shard: int(shard), Key: string(b[:size]), Body: append([]byte(nil), b[size:]...)}, nil
}

func idKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func keyID(k []byte) uint64 { return binary.BigEndian.Uint64(k) }

func dueKey(ms int64, id uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(ms)), id)
}

func dueOf(k []byte) int64 { return int64(binary.BigEndian.Uint64(k)) }
