// Package ident mints the ids a cabinet needs before any I/O. Clock and
// randomness are passed in, so that a drill or a simulation owns them.
package ident

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mint makes ids. Safe for concurrent use, whatever its reader is.
type Mint struct {
	now  func() time.Time
	mu   sync.Mutex
	rand io.Reader
}

// New returns a mint; nil arguments mean the real clock and crypto/rand.
func New(now func() time.Time, random io.Reader) *Mint {
	if now == nil {
		now = time.Now
	}
	if random == nil {
		random = rand.Reader
	}
	return &Mint{now: now, rand: random}
}

// V7 returns a UUIDv7. Its time part is only for locality: a wrong clock makes
// ids that sort oddly, never ids that collide (74 bits are random).
func (m *Mint) V7() (string, error) {
	b, err := m.random()
	if err != nil {
		return "", err
	}
	ms := max(m.now().UnixMilli(), 0)
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return stamp(b, 7), nil
}

// V4 returns a random UUID: the name of an epoch or of a session.
func (m *Mint) V4() (string, error) {
	b, err := m.random()
	if err != nil {
		return "", err
	}
	return stamp(b, 4), nil
}

// FromKey returns the id that an Idempotency-Key of a cabinet stands for. It is
// the same in every epoch, so a key replayed after the outbox was replaced still
// meets the first order in the cloud.
func FromKey(cabinet, key string) string { return derive("vendline idempotency key", cabinet, key) }

// OfResult returns the id of the nth report on a dispense command. Whoever
// reports it, and however often, it is the same event.
func OfResult(command string, n int) string {
	return derive("vendline dispense result", command, strconv.Itoa(n))
}

// OfPlanogram returns the id of the event that says that a cabinet works by a
// version of its planogram, which is true once.
func OfPlanogram(cabinet string, version int64) string {
	return derive("vendline planogram", cabinet, strconv.FormatInt(version, 10))
}

func derive(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return stamp([16]byte(sum[:16]), 8)
}

func (m *Mint) random() (b [16]byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := io.ReadFull(m.rand, b[:]); err != nil {
		return b, fmt.Errorf("ident: read randomness: %w", err)
	}
	return b, nil
}

func stamp(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return Format(b)
}

// Format writes 16 bytes as a lower-case UUID.
func Format(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// Parse reads a lower-case UUID back into 16 bytes.
func Parse(s string) (b [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return b, false
	}
	digits := []byte(s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	if _, err := hex.Decode(b[:], digits); err != nil || Format(b) != s {
		return b, false
	}
	return b, true
}
