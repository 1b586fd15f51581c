// Package outbox is Step 2 of 8: the cabinet's local message table. An event is
// appended to a bbolt file and synced before the firmware hears 202, and its row
// stays until the cloud's own answer for (epoch, seq) is stored beside it.
//
// # The promise
//
// Once Append has returned, the event reaches the cloud at least once, whatever
// happens to the power, the network or the broker; only the loss of the file
// itself can break this, and then the cloud is told (a new epoch, with a gap).
// An MQTT acknowledgement deletes nothing.
//
// # The file
//
//	meta    epoch, counters, and whether an earlier file was set aside
//	rows    seq → event, until its answer is stored
//	ids     id → what was asked under it, its seq, its answer: for idempotency
//	done    number → answer, the last History of them
//	parked  seq → tombstone of a row that can not be delivered, with the reason
//
// and the books of others (Book), written through Write in one commit with the
// events that tell of them.
//
// Every value carries a schema version and a checksum of its own, since bbolt
// checks the structure of a file but not the bytes of a value.
package outbox
