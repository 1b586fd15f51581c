package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/order"
)

// net/http cuts an answer at the write timeout, whatever it waits for.
func TestAWaitOutlivesTheTimeoutsOfOrdinaryAnswers(t *testing.T) {
	h, err := api.NewServer(api.Options{
		Orders: fakeOrders{wait: func(ctx context.Context, id string, _ time.Duration) (order.Order, error) {
			select {
			case <-time.After(400 * time.Millisecond):
				return order.Order{ID: id, Status: order.Consumed}, nil
			case <-ctx.Done():
				return order.Order{}, ctx.Err()
			}
		}},
		Truth: noTruth{}, Catalogue: noCatalogue{}, ID: newID,
	})
	check(t, err)
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	if got := status(s.Client().Get(s.URL + "/v1/orders/" + newID() + "?wait=60s")); got != http.StatusOK {
		t.Errorf("HTTP %d", got)
	}
}
