package app

import (
	"maps"
	"slices"

	"vendline/cloud/api"
	"vendline/cloud/shop"
)

// openShop mounts the page that the code on a cabinet leads to.
func (a *App) openShop(server *api.Server) error {
	s, err := shop.New(slices.Sorted(maps.Keys(a.Payments.Providers)))
	if err != nil {
		return err
	}
	s.Mount(server)
	return nil
}
