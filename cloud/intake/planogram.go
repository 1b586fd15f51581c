package intake

import (
	"context"

	"vendline/shared/wire"
)

// Planograms knows what cabinets are to work by.
type Planograms interface {
	// NewestPlanogram returns nil for a cabinet that has none.
	NewestPlanogram(ctx context.Context, cabinet string) (*wire.Planogram, error)
}

// Planogram tells a cabinet what it is to work by. One that it has already
// changes nothing there, so it is told at every birth: a cabinet that lost its
// memory has acknowledged what it does not know any more.
func (in *Intake) Planogram(cabinet string, p wire.Planogram) {
	in.publish(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandPlanogram, Planogram: &p})
}
