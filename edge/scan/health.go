package scan

import (
	"net/http"
	"time"

	"vendline/shared/wire"
)

// Health answers GET /v1/health. Intervals are on the monotonic clock.
type Health struct {
	Status     string   `json:"status"` // ok, or degraded with Problems
	Cabinet    string   `json:"cabinet"`
	Version    string   `json:"version"`
	Epoch      string   `json:"epoch"`
	Gap        bool     `json:"gap"` // this epoch began because an earlier file was damaged
	Connected  bool     `json:"connected"`
	Since      int64    `json:"since_ms"` // how long Connected has been as it is
	Session    string   `json:"session,omitempty"`
	LastError  string   `json:"last_error,omitempty"`
	Conflict   string   `json:"identity_conflict,omitempty"`
	Depth      int64    `json:"depth"` // rows waiting for the cloud's answer
	OldestAge  int64    `json:"oldest_age_ms"`
	Parked     int64    `json:"parked"`
	Tombstones []Grave  `json:"last_parked"`
	DBSize     int64    `json:"db_bytes"`
	SetAside   string   `json:"quarantined_file,omitempty"`
	Resent     int64    `json:"resent"`
	Dropped    int64    `json:"answers_dropped"`
	Commands   Open     `json:"commands"`
	Allowance  bool     `json:"allowance_known"` // the cloud has said what may be sold offline
	Owed       int64    `json:"answer_owed_ms"`  // for how long the cloud has answered nothing though it was asked
	Problems   []string `json:"problems"`
}

// Open are the commands that are not done.
type Open struct {
	Ready      int    `json:"ready"`
	Dispensing int    `json:"dispensing"`
	Asked      *int64 `json:"last_ask_ms"`    // since we last asked for commands; null: not yet
	Answered   *int64 `json:"last_answer_ms"` // since the cloud last answered; null: not yet
}

// Grave is a parked row as health shows it.
type Grave struct {
	Seq    int64     `json:"seq"`
	ID     string    `json:"id,omitempty"`
	Code   wire.Code `json:"code"`
	Reason string    `json:"reason"`
	Bytes  int       `json:"bytes"`
}

const shownGraves = 5

func (a *api) getHealth(w http.ResponseWriter, _ *http.Request) error {
	h, err := ReadHealth(a.Config)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, h)
	return nil
}

// ReadHealth collects the health of an agent.
func ReadHealth(c Config) (Health, error) {
	link := c.Link.Status()
	h := Health{Status: "ok", Cabinet: c.Cabinet, Version: c.Version, Epoch: c.Box.Epoch(), Gap: c.Box.Gap(),
		Connected: link.Connected, Since: (c.Mono() - link.Since).Milliseconds(), Session: link.Session,
		LastError: link.LastError, Conflict: link.Conflict,
		Depth: c.Box.Depth(), OldestAge: c.Box.OldestAge().Milliseconds(), Parked: c.Box.Parked(), Tombstones: []Grave{},
		DBSize: c.Box.Size(), SetAside: c.Box.SetAside(), Resent: link.Resent, Dropped: link.Dropped}
	commands := c.Commands.Status()
	h.Commands = Open{Ready: commands.Ready, Dispensing: commands.Dispensing, Asked: millis(commands.Asked), Answered: millis(commands.Answered)}
	_, h.Allowance = c.Allowance.Left()
	h.Owed = link.Owed.Milliseconds()
	graves, err := c.Box.Tombstones(shownGraves)
	if err != nil {
		return h, err
	}
	for _, t := range graves {
		h.Tombstones = append(h.Tombstones, Grave{Seq: t.Seq, ID: t.ID, Code: t.Code, Reason: t.Reason, Bytes: t.Bytes})
	}
	h.Problems = problems(h, c.Box.Err())
	if len(h.Problems) > 0 {
		h.Status = "degraded"
	}
	return h, nil
}

// millis is d in milliseconds, or nil for never.
func millis(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

func problems(h Health, broken error) []string {
	list := []string{}
	add := func(when bool, say string) {
		if when {
			list = append(list, say)
		}
	}
	add(broken != nil, "the outbox file is damaged; restart the agent")
	add(!h.Connected, "not connected to the cloud; events wait on the disk")
	add(h.Connected && time.Duration(h.Owed)*time.Millisecond >= silence, "the broker is there and the cloud behind it answers nothing")
	add(h.Conflict != "", h.Conflict)
	add(h.Parked > 0, "some events could not be delivered and are parked")
	add(h.SetAside != "", "a damaged outbox was set aside; send it to an engineer")
	return list
}
