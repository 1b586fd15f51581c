package alert

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"vendline/shared/wire"
)

// Bounds of a snooze: nothing is silent for ever.
const (
	ShortestSnooze = time.Minute
	LongestSnooze  = 30 * 24 * time.Hour
	mostReason     = 200
)

// ErrNoSnooze is returned for a snooze that does not exist, or has ended.
var ErrNoSnooze = errors.New("alert: no such snooze is in force")

// Check says what is wrong with a snooze that somebody asks for.
func (s Snooze) Check() error {
	switch d := s.Until.Sub(s.At); {
	case s.Key == "" && s.Rule == "":
		return &wire.FieldError{Path: "rule", Problem: "must name a rule, if no alert is named"}
	case d < ShortestSnooze || d > LongestSnooze:
		return &wire.FieldError{Path: "for", Problem: "must be between 1m and 720h (30 days): nothing is silent for ever"}
	case strings.TrimSpace(s.Reason) == "" || utf8.RuneCountInString(s.Reason) > mostReason:
		return &wire.FieldError{Path: "reason", Problem: "must say in 1 to 200 characters why it may be silent"}
	case utf8.RuneCountInString(s.By) > 64:
		return &wire.FieldError{Path: "by", Problem: "must have at most 64 characters"}
	}
	return nil
}
