package fleet_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vendline/cloud/fleet"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

type line struct {
	Cabinet             string
	Done, Total, Failed int
	Error               string
}

// warm posts a warm-up and reads its lines.
func (s *site) warm(t *testing.T, body string) (int, []line) {
	t.Helper()
	res, err := s.Client().Post(s.URL+"/v1/fleet/warmup", "application/json", strings.NewReader(body))
	check(t, err)
	defer func() { _ = res.Body.Close() }()
	var out []line
	for d := json.NewDecoder(res.Body); ; {
		var l line
		if err := d.Decode(&l); err == io.EOF {
			return res.StatusCode, out
		} else {
			check(t, err)
		}
		out = append(out, l)
	}
}

func TestAWarmUpTellsHowFarItIs(t *testing.T) {
	var mu sync.Mutex
	var loaded []string
	s := start(t, func(o *fleet.Options) {
		o.Rebuild = func(_ context.Context, c string) error {
			mu.Lock()
			defer mu.Unlock()
			switch c {
			case "C404":
				return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet C404"}
			case "C500":
				return errAway
			}
			loaded = append(loaded, c)
			return nil
		}
	})
	status, lines := s.warm(t, `{"cabinets":["C001","C404","C500","C001","C002"]}`)
	if status != 200 || len(lines) != 5 {
		t.Fatalf("HTTP %d: %+v", status, lines)
	}
	failed := map[string]string{}
	for i, l := range lines[:4] {
		if l.Cabinet == "" || l.Done != i+1 || l.Total != 4 {
			t.Errorf("line %d: %+v", i, l)
		}
		failed[l.Cabinet] = l.Error
	}
	if failed["C404"] != "cabinet_unknown: there is no cabinet C404" || !strings.HasPrefix(failed["C500"], "unavailable") ||
		strings.Contains(failed["C500"], "10.0.0.7") || failed["C001"] != "" {
		t.Errorf("%v", failed)
	}
	if last := lines[4]; last != (line{Done: 4, Total: 4, Failed: 2}) {
		t.Errorf("the last line: %+v", last)
	}
	slices.Sort(loaded)
	if !slices.Equal(loaded, []string{"C001", "C002"}) {
		t.Errorf("loaded %v", loaded)
	}
	if status, lines = s.warm(t, `{"all":true}`); status != 200 || len(lines) != 3 || lines[2].Total != 2 {
		t.Errorf("all: HTTP %d: %+v", status, lines)
	}
}

func TestAWarmUpLoadsAFewAtATimeOverAllRequests(t *testing.T) {
	var now, most atomic.Int64
	s := start(t, func(o *fleet.Options) {
		o.Parallel = 2
		o.Rebuild = func(context.Context, string) error {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
			return nil
		}
	})
	body := `{"cabinets":["` + strings.Join(names(50), `","`) + `"]}`
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if status, lines := s.warm(t, body); status != 200 || len(lines) != 51 {
				t.Errorf("HTTP %d, %d lines", status, len(lines))
			}
		})
	}
	wg.Wait()
	if m := most.Load(); m > 2 {
		t.Errorf("%d cabinets were loaded at once", m)
	}
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "C" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	return out
}

func TestAWarmUpEndsWithItsCaller(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 100)
	var once sync.Once
	s := start(t, func(o *fleet.Options) {
		o.Parallel = 1
		o.Rebuild = func(ctx context.Context, _ string) error {
			once.Do(func() { close(begun) })
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
	})
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/fleet/warmup", strings.NewReader(`{"cabinets":["`+strings.Join(names(50), `","`)+`"]}`))
	check(t, err)
	req.Header.Set("Content-Type", "application/json")
	go func() {
		<-begun
		hangUp()
	}()
	if res, err := s.Client().Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	<-ended
	s.Close() // waits for the handler, which would otherwise go on with the other 49
	if n := len(ended); n != 0 {
		t.Errorf("%d more were begun after the caller had gone", n)
	}
}

func TestAWarmUpIsAskedForExactly(t *testing.T) {
	s := start(t)
	for body, field := range map[string]string{
		`{}`:                            "cabinets",
		`{"cabinets":[]}`:               "cabinets",
		`{"all":false}`:                 "cabinets",
		`{"all":true,"cabinets":["C"]}`: "cabinets",
		`{"cabinets":["C001","+"]}`:     "cabinets[1]",
		`{"cabinets":["a/b"]}`:          "cabinets[0]",
		`{"cabinets":null}`:             "cabinets",
		`{"all":"yes"}`:                 "all",
		`{"ALL":true}`:                  "ALL",
		`{"all":true}{}`:                "",
	} {
		res, err := s.Client().Post(s.URL+"/v1/fleet/warmup", "application/json", strings.NewReader(body))
		check(t, err)
		text := readAll(t, res)
		if res.StatusCode != 400 || !strings.Contains(text, `"invalid_request"`) || field != "" && !strings.Contains(text, `"field":"`+field+`"`) {
			t.Errorf("%s: HTTP %d: %s", body, res.StatusCode, text)
		}
	}
	res, err := s.Client().Post(s.URL+"/v1/fleet/warmup", "text/plain", strings.NewReader(`{"all":true}`))
	check(t, err)
	if text := readAll(t, res); res.StatusCode != 415 {
		t.Errorf("HTTP %d: %s", res.StatusCode, text)
	}
	s = start(t, func(o *fleet.Options) { o.Rebuild = nil })
	res, err = s.Client().Post(s.URL+"/v1/fleet/warmup", "application/json", strings.NewReader(`{"all":true}`))
	check(t, err)
	if text := readAll(t, res); res.StatusCode != 404 {
		t.Errorf("no stock to warm: HTTP %d: %s", res.StatusCode, text)
	}
}
