package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vendline/shared/wire"
)

// shop lets shoppers buy, about two a second, by phone and by scan. What they
// do not pay expires; what runs low is restocked, by a fact from the cabinet.
func (d *Demo) shop(ctx context.Context) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	client := &http.Client{Timeout: 15 * time.Second}
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+r.IntN(600)) * time.Millisecond):
		}
		a := d.Agents[r.IntN(len(d.Agents))]
		basket, patience := randomBasket(r), r.Float64()
		user := fmt.Sprintf("shopper-%d", r.IntN(40))
		d.wg.Go(func() {
			var id string
			var err error
			if n%2 == 0 {
				id, err = d.byPhone(ctx, client, a.ID, user, basket)
			} else {
				id, err = d.byScan(ctx, client, a, user, basket)
			}
			if err != nil && ctx.Err() == nil {
				d.cfg.Log.Debug("a shopper left empty-handed", "cabinet", a.ID, "error", err)
			}
			if id != "" {
				d.decide(ctx, client, id, patience)
			}
		})
		if n%20 == 19 {
			d.wg.Go(func() { d.restock(ctx, client) })
		}
	}
}

func randomBasket(r *rand.Rand) []wire.Line {
	ps := shelf()
	lines := make([]wire.Line, 1+r.IntN(3))
	for i := range lines {
		lines[i] = wire.Line{SKU: ps[r.IntN(len(ps))].SKU, Qty: 1 + r.IntN(2)}
	}
	return lines
}

// byPhone orders through the mobile API.
func (d *Demo) byPhone(ctx context.Context, c *http.Client, cabinet, user string, lines []wire.Line) (string, error) {
	body, _ := json.Marshal(map[string]any{"cabinet": cabinet, "user": user, "lines": lines})
	var got struct {
		Order struct {
			ID string `json:"id"`
		} `json:"order"`
	}
	err := call(ctx, c, "POST", d.URL()+"/v1/orders", d.cfg.Deps.ID(), body, &got)
	return got.Order.ID, err
}

// byScan posts to the cabinet's own agent and waits for the cloud's verdict.
func (d *Demo) byScan(ctx context.Context, c *http.Client, a Cabinet, user string, lines []wire.Line) (string, error) {
	body, _ := json.Marshal(map[string]any{"user": user, "lines": lines})
	var got struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if err := call(ctx, c, "POST", a.URL()+"/v1/scan-orders", "", body, &got); err != nil {
		return "", err
	}
	if err := call(ctx, c, "GET", a.URL()+"/v1/orders/"+got.ID+"?wait=10s", "", nil, &got); err != nil || got.Status != "accepted" {
		return "", err
	}
	return got.ID, nil
}

// decide is what shoppers do with a hold: most pay, some cancel, the rest walk
// away and let it expire.
func (d *Demo) decide(ctx context.Context, c *http.Client, id string, patience float64) {
	pause(ctx, time.Duration(1+4*patience)*time.Second)
	switch {
	case ctx.Err() != nil:
	case patience < 0.7:
		if err := d.pay(ctx, c, id); err != nil && ctx.Err() == nil {
			d.cfg.Log.Debug("a shopper could not pay", "order", id, "error", err)
		}
	case patience < 0.85:
		_ = call(ctx, c, "POST", d.URL()+"/v1/orders/"+id+"/cancel", "", nil, nil)
	}
}

// pay asks for the order's charge and presses the button on the provider's page.
func (d *Demo) pay(ctx context.Context, c *http.Client, id string) error {
	var got struct {
		Payment struct {
			URL string `json:"url"`
		} `json:"payment"`
	}
	if err := call(ctx, c, "POST", d.URL()+"/v1/orders/"+id+"/payments", "", []byte(`{"provider":"sandbox"}`), &got); err != nil {
		return err
	}
	form := strings.NewReader(url.Values{"button": {"pay"}}.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, got.Payment.URL, form)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the provider's page answered %s", resp.Status)
	}
	return nil
}

// restock fills up what runs low, as the person with the trolley would.
func (d *Demo) restock(ctx context.Context, c *http.Client) {
	for _, a := range d.Agents {
		rows, err := d.Cloud.Ledger.Stock(ctx, a.ID)
		if err != nil {
			return
		}
		var lines []wire.Line
		for _, s := range rows {
			if s.Available < 4 {
				lines = append(lines, wire.Line{SKU: s.SKU, Qty: 15})
			}
		}
		if len(lines) == 0 {
			continue
		}
		body, _ := json.Marshal(map[string]any{"kind": wire.FactRestock, "lines": lines})
		if err := call(ctx, c, "POST", a.URL()+"/v1/facts", "", body, nil); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("a restock was not taken", "cabinet", a.ID, "error", err)
		}
	}
}

func call(ctx context.Context, c *http.Client, method, address, key string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, req.URL.Path, resp.Status, strings.TrimSpace(string(text)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
