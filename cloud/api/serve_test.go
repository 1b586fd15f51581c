package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vendline/cloud/api"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

func TestHTTPIsOnLoopbackUnlessToldOtherwise(t *testing.T) {
	var log bytes.Buffer
	l, err := api.Listen(t.Context(), "127.0.0.1:0", slog.New(slog.NewTextHandler(&log, nil)))
	check(t, err)
	_ = l.Close()
	if !strings.Contains(log.String(), "loopback only; use --http 0.0.0.0:8080") {
		t.Errorf("log: %s", &log)
	}
	host, _, err := net.SplitHostPort(api.DefaultAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		t.Errorf("the default is %s", api.DefaultAddr)
	}
	log.Reset()
	l, err = api.Listen(t.Context(), ":0", slog.New(slog.NewTextHandler(&log, nil)))
	check(t, err)
	_ = l.Close()
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "no access control") {
		t.Errorf("an open door is not worth a warning? %s", &log)
	}
}

// An order under way is answered; a wait is answered with what there is; and
// nothing is left running.
func TestStoppingLetsRequestsFinish(t *testing.T) {
	defer goleak.VerifyNone(t)
	placing, place, waiting := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h, err := api.NewServer(api.Options{
		Orders: fakeOrders{
			place: func(_ context.Context, r order.Request) (order.Order, bool, error) {
				close(placing)
				<-place
				return order.Order{ID: r.ID}, false, nil
			},
			wait: func(ctx context.Context, id string, _ time.Duration) (order.Order, error) {
				close(waiting)
				<-ctx.Done()
				return order.Order{ID: id, Status: order.PreReserved}, ctx.Err()
			},
		},
		Truth: noTruth{}, Catalogue: noCatalogue{}, ID: newID,
	})
	check(t, err)
	drained := make(chan struct{})
	h.OnDrain(func() { close(drained) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- h.Serve(ctx, l) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url, statuses := "http://"+l.Addr().String(), make(chan int)
	go func() {
		req, _ := http.NewRequest(http.MethodPost, url+"/v1/orders", strings.NewReader(basket))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "k")
		statuses <- status(client.Do(req))
	}()
	<-placing
	go func() { statuses <- status(client.Get(url + "/v1/orders/" + newID() + "?wait=60s")) }()
	<-waiting

	stop()
	if got := <-statuses; got != http.StatusOK {
		t.Errorf("the wait: HTTP %d", got)
	}
	<-drained
	close(place)
	if got := <-statuses; got != http.StatusCreated {
		t.Errorf("the order: HTTP %d", got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func status(res *http.Response, err error) int {
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

type noTruth struct{}

func (noTruth) Available(context.Context, string) (map[string]int64, error) {
	return nil, errors.New("no ledger here")
}

type noCatalogue struct{}

func (noCatalogue) Product(context.Context, string, string) (order.Offer, bool, error) {
	return order.Offer{}, false, errors.New("no catalogue here")
}

func (noCatalogue) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, errors.New("no catalogue here")
}
