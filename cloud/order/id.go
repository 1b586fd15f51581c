package order

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vendline/shared/wire"
)

// IDFromKey turns an Idempotency-Key into the order's id: a UUID stands for
// itself, anything else is hashed into a UUIDv8 (RFC 9562). The same key is
// therefore the same order, with no table in between that could be lost.
func IDFromKey(key string) string {
	if k := strings.ToLower(key); wire.ValidID(k) {
		return k
	}
	h := sha256.Sum256([]byte("vendline-key\x00" + key))
	h[6] = h[6]&0x0f | 0x80
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// MintedAt reads the time in a UUIDv7; ok is false for other ids.
func MintedAt(id string) (t time.Time, ok bool) {
	if !wire.ValidID(id) || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[0:8]+id[9:13], 16, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
