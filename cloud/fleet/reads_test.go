package fleet_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/order"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	check(t, err)
	return string(b)
}

func TestCabinetsAreReadInPages(t *testing.T) {
	s := start(t)
	s.set(func() { s.cabinets = []string{"C001", "C002", "C003"} })
	var got []string
	for after := ""; ; {
		var p struct {
			Total    int
			Cabinets []cabinet
			Next     string
		}
		if status := s.get(t, "/v1/fleet/cabinets?limit=2&after="+after, &p); status != 200 || p.Total != 3 {
			t.Fatalf("HTTP %d: %+v", status, p)
		}
		for _, c := range p.Cabinets {
			got = append(got, c.ID)
		}
		if after = p.Next; after == "" {
			break
		}
	}
	if fmt.Sprint(got) != "[C001 C002 C003]" {
		t.Errorf("%v", got)
	}
	var p struct{ Cabinets []cabinet }
	s.set(func() { s.away["stock"] = errAway })
	s.get(t, "/v1/fleet/cabinets", &p)
	if c := p.Cabinets[0]; *c.Depth != 4 || c.Stock[0].Sellable == nil && c.Stock[0].Available != 12 {
		t.Errorf("with Redis away: %+v", c)
	}
}

func TestOrdersOfACabinet(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.orders = []order.Order{{ID: "a", Cabinet: "C001", Status: order.Consumed, Amount: 9007199254740993, Currency: "JPY", CreatedAt: time.UnixMilli(5), Lines: []order.Line{{SKU: "cola", Qty: 2, Price: 250}}}}
	})
	var p struct {
		Orders []struct {
			ID, Status string
			Amount     int64
			Created    int64
			Lines      []struct{ Qty int }
		}
	}
	if status := s.get(t, "/v1/fleet/orders?cabinet=C001", &p); status != 200 || len(p.Orders) != 1 || p.Orders[0].Created != 5 || p.Orders[0].Lines[0].Qty != 2 {
		t.Errorf("HTTP %d: %+v", status, p)
	}
}

func TestReadsAreBoundedAndFailuresAreProblems(t *testing.T) {
	s := start(t)
	for _, path := range []string{"cabinets?limit=0", "cabinets?limit=501", "orders?cabinet=C001&limit=x", "dead-letters?limit=-1", "orders?cabinet=", "orders?user=%20", "orders?status=PAID", "cases?closed=yes", "cases?limit=0", "orders?cabinet=%2B", "orders?cabinet=a%2Fb"} {
		var p struct{ Code, Detail string }
		if status := s.get(t, "/v1/fleet/"+path, &p); status != 400 || p.Code != "invalid_request" {
			t.Errorf("%s: HTTP %d %s", path, status, p.Code)
		}
	}
	s.set(func() { s.away["ledger"] = errAway })
	for _, path := range []string{"cabinets", "orders?cabinet=C001", "dead-letters"} {
		var p struct {
			Code, Detail string
			Retryable    bool
		}
		if status := s.get(t, "/v1/fleet/"+path, &p); status != 503 || p.Code != "unavailable" || !p.Retryable || strings.Contains(p.Detail, "10.0.0.7") {
			t.Errorf("%s: HTTP %d %+v", path, status, p)
		}
	}
}
