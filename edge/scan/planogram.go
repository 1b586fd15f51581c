package scan

import (
	"net/http"

	"vendline/shared/wire"
)

// Planogram is the store of slots and prices, as the API needs it.
// *planogram.Store is one.
type Planogram interface {
	// Current is the version in force; ok is false if there is none.
	Current() (p wire.Planogram, ok bool, err error)
}

type planogram struct {
	Status  string      `json:"status"`            // known or unknown
	Version int64       `json:"version,omitempty"` // what priced_at of a scan-order refers to
	Slots   []wire.Slot `json:"slots"`
}

func (a *api) getPlanogram(w http.ResponseWriter, _ *http.Request) error {
	p, ok, err := a.Planogram.Current()
	if err != nil {
		return err
	}
	answer := planogram{Status: "unknown", Slots: []wire.Slot{}}
	if ok {
		answer.Status, answer.Version = "known", p.Version
		answer.Slots = append(answer.Slots, p.Slots...)
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}
