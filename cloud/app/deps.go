package app

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// System returns the dependencies of a real process: this machine's clock and
// randomness. Tests and simulations bring their own.
func System(log *slog.Logger) Deps {
	return Deps{Clock: time.Now, ID: NewID, Token: NewToken, Log: log}
}

// NewID mints a UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewToken draws a generation token: 12 random characters of [0-9a-f].
func NewToken() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
