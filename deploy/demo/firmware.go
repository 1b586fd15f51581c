package demo

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"vendline/shared/wire"
)

// brokenMotor is the cabinet and product whose motor stalls now and then.
const (
	brokenCabinet = "C003"
	brokenSKU     = "chips"
)

// firmware is a cabinet's motor control: it asks its agent for what to dispense,
// turns the motors, and says what dropped. Any language would do: it is two
// HTTP calls on loopback.
func (d *Demo) firmware(ctx context.Context, a Cabinet) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 2))
	client := &http.Client{Timeout: 40 * time.Second}
	for ctx.Err() == nil {
		var got struct {
			Commands []struct {
				ID    string
				Lines []wire.Line
			}
		}
		if err := call(ctx, client, "GET", a.URL()+"/v1/commands?wait=20s", "", nil, &got); err != nil {
			pause(ctx, time.Second)
			continue
		}
		for _, c := range got.Commands {
			lines := make([]map[string]any, len(c.Lines))
			for i, l := range c.Lines {
				pause(ctx, time.Duration(300+r.IntN(700))*time.Millisecond)
				lines[i] = turn(a.ID, l, r.Float64())
			}
			body, _ := json.Marshal(map[string]any{"lines": lines})
			for try := 0; ctx.Err() == nil && try < 5; try++ {
				if err := call(ctx, client, "POST", a.URL()+"/v1/commands/"+c.ID+"/result", "", body, nil); err == nil {
					break
				} else if ctx.Err() == nil {
					d.cfg.Log.Warn("a result was not taken", "cabinet", a.ID, "command", c.ID, "error", err)
				}
				pause(ctx, time.Second)
			}
		}
	}
}

// turn is what a motor does with one line.
func turn(cabinet string, l wire.Line, luck float64) map[string]any {
	if cabinet == brokenCabinet && l.SKU == brokenSKU && luck < 0.7 {
		return map[string]any{"sku": l.SKU, "state": wire.Failed, "units": l.Qty - 1, "detail": "motor stalled"}
	}
	return map[string]any{"sku": l.SKU, "state": wire.Dispensed, "units": l.Qty}
}

// pause sleeps, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
