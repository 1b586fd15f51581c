package bench

import (
	"context"

	edge "vendline/edge/bench"

	"vendline/deploy/stack"
)

func benchCabinets() []string { return []string{"E001"} }

func edgeReport(ctx context.Context, cfg Config, d *stack.Description) (*edge.Report, error) {
	return nil, nil
}

func redisVersion(ctx context.Context, addr string) string { return "" }
