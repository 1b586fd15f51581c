package app

import (
	"vendline/cloud/api"
)

func (a *App) openFleet(*api.Server) error { return nil }

// connection tells how a cabinet is doing, as far as its messages tell.
func (a *App) connection(cabinet string) api.Connection {
	c, ok := a.presence.Get(cabinet, a.Deps.Clock())
	if !ok {
		return api.Unknown
	}
	return api.Connection(c.Health)
}
