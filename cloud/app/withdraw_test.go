package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Shoppers withdraw orders while the service places them: each ends once, its
// history and its callback say how, and every unit is for sale again.
func TestAnOrderThatWaitsToBePlacedIsCancelled(t *testing.T) {
	for _, mode := range []string{app.ModeAsync, app.ModeSync} {
		t.Run(mode, func(t *testing.T) { withdraw(t, mode) })
	}
}

func withdraw(t *testing.T, mode string) {
	const crowd, units = 40, 100
	told := make(chan order.Outcome, 4*crowd)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var o order.Outcome
		if err := json.Unmarshal(body, &o); err != nil {
			t.Errorf("called back with %s", body)
			return
		}
		told <- o
	}))
	defer hook.Close()
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		Mode: mode, HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		CallbackSecret: "a secret of more than sixteen bytes", CallbackLoopback: true, Holds: -1,
	}, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer a.Close()
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": units}))
	withdrawn := map[string]bool{}
	for range crowd {
		r := order.Request{ID: app.NewID(), Cabinet: "C001", User: app.NewID(), Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
		_, _, err := a.Orders.TakeIn(t.Context(), r, order.Wishes{Callback: hook.URL})
		must(t, err)
		o, err := a.Orders.Cancel(t.Context(), r.ID)
		must(t, err)
		again, err := a.Orders.Cancel(t.Context(), r.ID)
		must(t, err)
		if again.Status != o.Status || again.Version != o.Version {
			t.Errorf("cancelled as %s %d, again as %s %d", o.Status, o.Version, again.Status, again.Version)
		}
		switch {
		case o.Refused() && o.Intent.Code == wire.CodeOrderReleased && o.Intent.Detail == "cancelled by shopper":
			withdrawn[r.ID] = true
		case o.Status != order.RolledBack: // it was placed before
			t.Errorf("cancelled as %s, %+v", o.Status, o.Intent)
		}
		var state *order.StateError
		if err := a.Orders.Admit(t.Context(), o); !errors.Is(err, order.ErrExists) && !errors.As(err, &state) && !refusal(err) {
			t.Errorf("placed after it was cancelled: %v", err)
		}
	}
	if len(withdrawn) == 0 {
		t.Error("all were placed before they were cancelled")
	}
	late := time.After(time.Minute)
	for left := len(withdrawn); left > 0; {
		select {
		case o := <-told:
			if !withdrawn[o.Order.ID] {
				continue
			}
			if o.Event != "order.refused" {
				t.Errorf("%s was called back as %s", o.Order.ID, o.Event)
			}
			h, err := a.Ledger.History(t.Context(), o.Order.ID)
			must(t, err)
			if last := h[len(h)-1]; last.Cause != "order_released: cancelled by shopper" {
				t.Errorf("its history ends with %+v", last)
			}
			left--
		case <-late:
			t.Fatalf("%d were not called back", left)
		}
	}
	if mode == app.ModeSync {
		return
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		live, err := a.Stock.Sellable(t.Context(), "C001")
		must(t, err)
		if live["cola"] == units {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d are for sale", live["cola"], units)
		}
	}
}

func refusal(err error) bool {
	var no *order.Refusal
	return errors.As(err, &no)
}
