package bench

import (
	"context"
	"fmt"
	"io"

	"vendline/deploy/stack"
	edge "vendline/edge/bench"
)

// edgeCabinet drains its outbox through the real broker.
const edgeCabinet = "BENCH"

// edgeReport measures the agent on the same machine and broker.
func edgeReport(ctx context.Context, cfg Config, d *stack.Description) (*edge.Result, error) {
	r, err := edge.Run(ctx, edge.Options{
		Binary: cfg.Binaries.Edge,
		Broker: edge.Broker{
			URL: d.MQTTURL, CloudUser: d.MQTTUser, CloudPassword: d.MQTTPassword,
			Cabinet: edgeCabinet, CabinetPassword: d.Cabinets[edgeCabinet],
		},
	})
	return &r, err
}

func printEdge(w io.Writer, e edge.Result) {
	fmt.Fprintf(w, "edge: append+fsync %.0f/s (1 writer), %.0f/s (64 writers); drain %.0f events/s with application acks\n",
		e.Append1PerSecond, e.Append64PerSecond, e.DrainPerSecond)
	fmt.Fprintf(w, "      resident %.1f MB empty, %.1f MB with %d rows waiting; binary %.1f MB stripped\n",
		float64(e.RSSEmptyKiB)/1024, float64(e.RSSBacklogKiB)/1024, e.BacklogRows, float64(e.BinaryBytes)/1e6)
}
