package fleet

import (
	"context"
	"net/http"
	"time"

	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// Ledger is what the pages read of the truth. Every method is a short read.
type Ledger interface {
	// Cabinets lists all cabinet ids in order.
	Cabinets(ctx context.Context) ([]string, error)
	// Shelves lists a cabinet's stock rows by SKU.
	Shelves(ctx context.Context, cabinet string) ([]Shelf, error)
	// Recent returns a cabinet's n latest orders, newest first.
	Recent(ctx context.Context, cabinet string, n int) ([]order.Order, error)
	// Search returns up to n orders, newest first, of a cabinet, a shopper and in a
	// state; what is empty is any. OrdersByID returns those that there are.
	Search(ctx context.Context, cabinet, user string, status order.Status, n int) ([]order.Order, error)
	OrdersByID(ctx context.Context, ids ...string) ([]order.Order, error)
	// Standings says where the money of orders is: paid, refunding, refunded. One
	// to which none came is missing.
	Standings(ctx context.Context, ids ...string) (map[string]string, error)
	// Incidents returns up to n moments since a time when Redis was fenced.
	Incidents(ctx context.Context, since time.Time, n int) ([]fence.Incident, error)
	// Products lists the catalogue.
	Products(ctx context.Context) ([]order.Product, error)
	// Backlog reports every kind of outbox row.
	Backlog(ctx context.Context) ([]outbox.Stat, error)
	// CountLetters returns how many dead letters are open.
	CountLetters(ctx context.Context) (int64, error)
	Letters
}

// Shelf is one stock row: total = available + locked + sold.
type Shelf struct {
	SKU       string
	Total     int64
	Available int64
	Locked    int64
	Sold      int64
	Version   int64
}

// Live is the stock filter.
type Live interface {
	// SellableMany returns units by cabinet and SKU. A cabinet that is not loaded
	// is missing: unknown is not 0.
	SellableMany(ctx context.Context, cabinets []string) (map[string]map[string]int64, error)
}

// Presence is how one cabinet is, as far as its own messages tell.
type Presence struct {
	Cabinet string
	Status  string        // "online", "late" or "offline"
	Seen    time.Time     // last sign of life, by the cloud's clock; zero if none came
	Depth   int64         // rows waiting in its outbox, at the last beat
	Parked  int64         // rows it cannot send
	Skew    time.Duration // device clock less cloud clock, at the last beat
	Skewed  bool          // Skew is more than it should be
	Gap     bool          // its previous outbox was damaged and set aside
	Agent   string        // agent version
}

// Host is the HTTP server that the pages are mounted on: it owns the table of
// refusals, the limits of a body, and the moment to stop.
type Host interface {
	Handle(method, path string, h http.Handler)
	// Refuse answers a request with what err means to its caller.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
	// ReadJSON reads a request's whole body, strictly.
	ReadJSON(w http.ResponseWriter, r *http.Request, v any) error
	// OnDrain calls stop when the server is told to stop.
	OnDrain(stop func())
}
