package outbox

import (
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// releaseEvery is how many rows may be read or answered before touched pages of
// the file are given back.
const releaseEvery = 512

// release gives the mapped pages this process has touched back to the system.
// They stay in the page cache and fault in again when read, so this is about
// what counts as ours: draining a backlog would otherwise leave the whole file
// resident, on a machine with 64 MB.
//
// It must run inside a transaction: that pins the mapping, and up to tx.Size()
// of it is sure to be mapped. Dropping pages of a shared file mapping loses
// nothing; bbolt writes through the file, never through the map.
func release(tx *bolt.Tx) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED)
}
