package drill

import "time"

// jsonTime is an RFC 3339 time as Unix ms, which is what the ledger keeps.
type jsonTime int64

// UnmarshalText reads it.
func (t *jsonTime) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(text))
	*t = jsonTime(at.UnixMilli())
	return err
}
