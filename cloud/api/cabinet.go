package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// cabinetView is what a phone shows before its shopper chooses.
type cabinetView struct {
	Cabinet    string     `json:"cabinet"`
	Connection Connection `json:"connection"`
	// Source says where the units come from: "live" is what an order would be
	// measured against now; "ledger" cannot see the orders that are just being placed.
	Source string `json:"source"`
	// PricedAt is the planogram version that the prices are of; an order that says
	// it is refused when they have changed. Missing: the chain's prices.
	PricedAt int64       `json:"priced_at,omitempty"`
	Stock    []shelfView `json:"stock"`
}

type shelfView struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Price    int64  `json:"price"` // minor units
	Currency string `json:"currency"`
	Sellable int64  `json:"sellable"`

	Slots     []string `json:"slots,omitempty"` // by the planogram
	Suspended bool     `json:"suspended"`       // all of them are out of order
}

// cabinet answers GET /v1/cabinets/{id}.
func (s *Server) cabinet(c *gin.Context) {
	v, err := s.lookInto(c.Request.Context(), c.Param("id"))
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	writeJSON(c.Writer, http.StatusOK, v)
}

func (s *Server) lookInto(ctx context.Context, cabinet string) (cabinetView, error) {
	if !wire.ValidCabinet(cabinet) {
		return cabinetView{}, &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "a cabinet's id is 1 to 32 letters, digits, '_' or '-'"}
	}
	v := cabinetView{Cabinet: cabinet, Connection: s.opt.Connection(cabinet), Stock: []shelfView{}}
	units, source, err := s.units(ctx, cabinet)
	if err != nil {
		return v, err
	}
	v.Source = source
	if v.Stock, v.PricedAt, err = s.shelves(ctx, cabinet, units); err != nil {
		return v, fmt.Errorf("cabinet %s: %w", cabinet, err)
	}
	slices.SortFunc(v.Stock, func(a, b shelfView) int { return cmp.Compare(a.SKU, b.SKU) })
	return v, nil
}

// shelves are the products that a cabinet sells, at the prices of one version;
// what is not in its planogram cannot be ordered. While the ledger is away, those
// that nobody can tell of are left out, if there are others.
func (s *Server) shelves(ctx context.Context, cabinet string, units map[string]int64) (out []shelfView, version int64, unknown error) {
	for range 3 { // a new version may come about in between
		out, version, unknown = []shelfView{}, 0, nil
		versions := map[int64]bool{}
		for sku, n := range units {
			p, ok, err := s.opt.Catalogue.Product(ctx, cabinet, sku)
			if err != nil {
				unknown = err
			}
			if !ok {
				continue
			}
			version = p.PricedAt
			versions[version] = true
			out = append(out, shelfView{SKU: sku, Name: p.Name, Price: p.Price, Currency: p.Currency, Sellable: max(0, n), Slots: p.Slots, Suspended: p.Suspended})
		}
		if len(versions) <= 1 {
			break
		}
	}
	if len(out) > 0 {
		unknown = nil
	}
	return out, version, unknown
}

// units asks the stock filter, and the ledger when the filter does not know or
// does not answer soon.
func (s *Server) units(ctx context.Context, cabinet string) (units map[string]int64, source string, err error) {
	if s.opt.Live != nil {
		soon, cancel := context.WithTimeout(ctx, liveTimeout)
		units, err = s.opt.Live.Sellable(soon, cabinet)
		cancel()
		if err == nil {
			return units, "live", nil
		}
		if !errors.Is(err, order.ErrNotLoaded) {
			s.opt.Log.Debug("the live stock does not answer; the ledger does instead", "cabinet", cabinet, "error", err)
		}
	}
	units, err = s.opt.Truth.Available(ctx, cabinet)
	return units, "ledger", err
}

const liveTimeout = 500 * time.Millisecond
