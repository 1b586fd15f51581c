package scan

import (
	"net/http"
	"sync"
	"time"

	"vendline/edge/allowance"
	"vendline/shared/wire"
)

// Shelf remembers what the cloud last said this cabinet can sell. It lives in
// memory: after a restart the honest answer is "unknown" until the cloud speaks.
type Shelf struct {
	mu    sync.Mutex
	known bool
	at    time.Duration // monotonic
	lines []wire.StockLine
}

// Tell takes a command; only those about stock matter here.
func (s *Shelf) Tell(c wire.Command, now time.Duration) {
	if c.Kind != wire.CommandStock {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.at, s.lines = true, now, c.Stock
}

type stock struct {
	Status string           `json:"status"`           // known or unknown
	Age    *int64           `json:"age_ms,omitempty"` // since the cloud said so, on the monotonic clock
	Stock  []wire.StockLine `json:"stock"`

	Allowance *[]allowance.Left `json:"allowance,omitempty"` // what may be sold offline; missing while nothing was granted
}

func (s *Shelf) read(now time.Duration) stock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return stock{Status: "unknown", Stock: []wire.StockLine{}}
	}
	age := (now - s.at).Milliseconds()
	return stock{Status: "known", Age: &age, Stock: append([]wire.StockLine{}, s.lines...)}
}

func (a *api) getStock(w http.ResponseWriter, _ *http.Request) error {
	s := a.Shelf.read(a.Mono())
	if left, known := a.Allowance.Left(); known {
		s.Allowance = &left
	}
	writeJSON(w, http.StatusOK, s)
	return nil
}
