package scan

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/edge/dispense"
	"vendline/shared/wire"
)

// asked has the cloud answer a question of now.
func (r *rig) asked(t *testing.T, list ...wire.Vend) {
	t.Helper()
	var id string
	asker := dispense.NewAsker(r.journal, "C001", func() (string, error) { return command(99), nil },
		func() float64 { return 0.5 }, func(a wire.Ask) bool { id = a.ID; return true })
	if err := asker.Ask(); err != nil {
		t.Fatal(err)
	}
	if err := asker.Answer(t.Context(), wire.Command{Kind: wire.CommandDispense, Ask: id, Dispense: list}); err != nil {
		t.Fatal(err)
	}
}

func command(n int) string { return fmt.Sprintf("01890a5d-ac96-474b-8cce-b302099a80%02x", n) }

func vend(n int) wire.Vend {
	return wire.Vend{ID: command(n), Order: command(0x80 + n), ExpiresIn: 60_000, Lines: []wire.Line{{SKU: "cola", Qty: 2}, {SKU: "water", Qty: 1}}}
}

func ids(list map[string]any) (s string) {
	for _, c := range list["commands"].([]any) {
		s += c.(map[string]any)["id"].(string) + " "
	}
	return strings.TrimSpace(s)
}

func TestACommandIsPolledOnceAndItsResultToldLineByLine(t *testing.T) {
	r := start(t, nil)
	if resp, got := r.do(t, "GET", "/v1/commands", ""); resp.StatusCode != 200 || ids(got) != "" {
		t.Fatalf("%d %v", resp.StatusCode, got)
	}
	var poll sync.WaitGroup
	poll.Go(func() {
		resp, got := r.do(t, "GET", "/v1/commands?wait=20s", "")
		if resp.StatusCode != 200 || ids(got) != command(1) {
			t.Errorf("the long poll heard %d %v", resp.StatusCode, got)
			return
		}
		c := got["commands"].([]any)[0].(map[string]any)
		if c["state"] != "dispensing" || c["order"] != command(0x81) || c["expires_in"] != 60_000.0 || len(c["lines"].([]any)) != 2 {
			t.Errorf("%v", c)
		}
	})
	r.asked(t, vend(1))
	poll.Wait()
	for range 2 {
		if _, got := r.do(t, "GET", "/v1/commands", ""); ids(got) != "" {
			t.Fatalf("handed out again: %v", got)
		}
		if _, got := r.do(t, "GET", "/v1/commands?state=dispensing", ""); ids(got) != command(1) {
			t.Fatalf("after a firmware's restart: %v", got)
		}
	}
	where := "/v1/commands/" + command(1)
	for _, c := range []struct {
		name, query, body string
		status            int
		code, state       string
	}{
		{"one line", "", `{"lines":[{"sku":"cola","state":"dispensed"}]}`, 200, "", "dispensing"},
		{"again", "", `{"lines":[{"sku":"cola","state":"dispensed","units":2}]}`, 200, "", "dispensing"},
		{"otherwise", "", `{"lines":[{"sku":"cola","state":"failed","units":1}]}`, 409, "result_conflict", ""},
		{"no line", "", `{"lines":[]}`, 400, "invalid_request", ""},
		{"a line that is not there", "", `{"lines":[{"sku":"beer","state":"failed"}]}`, 400, "invalid_request", ""},
		{"too few units", "", `{"lines":[{"sku":"water","state":"dispensed","units":0}]}`, 400, "invalid_request", ""},
		{"another word", "?final=yes", `{"lines":[]}`, 400, "invalid_request", ""},
		{"the end", "?final=true", `{"lines":[]}`, 202, "", "done"},
		{"the end again", "?final=true", `{"lines":[]}`, 202, "", "done"},
		{"better late", "", `{"lines":[{"sku":"water","state":"failed","detail":"motor stalled"}]}`, 202, "", "done"},
		{"and later", "", `{"lines":[{"sku":"water","state":"dispensed"}]}`, 409, "result_conflict", ""},
	} {
		resp, got := r.do(t, "POST", where+"/result"+c.query, c.body)
		if resp.StatusCode != c.status || c.code != "" && got["code"] != c.code || c.state != "" && got["state"] != c.state {
			t.Errorf("%s: %d %v", c.name, resp.StatusCode, got)
		}
		if c.status == 202 && resp.Header.Get("Location") != fmt.Sprint("/v1/orders/", got["event"]) {
			t.Errorf("%s: Location %q of %v", c.name, resp.Header.Get("Location"), got)
		}
	}
	_, got := r.do(t, "GET", where, "")
	if got["state"] != "done" || got["lines"].([]any)[1].(map[string]any)["detail"] != "motor stalled" || r.box.Depth() != 2 {
		t.Fatalf("%v, %d events", got, r.box.Depth())
	}
	if _, o := r.do(t, "GET", "/v1/orders/"+got["event"].(string), ""); o["status"] != "pending" {
		t.Fatalf("the event: %v", o)
	}
}

func TestWhatCanNotBeAskedOfCommandsIsAProblem(t *testing.T) {
	r := start(t, nil)
	r.asked(t, vend(1))
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/v1/commands?state=ready", "", 400, "invalid_request"},
		{"GET", "/v1/commands?wait=soon", "", 400, "invalid_request"},
		{"GET", "/v1/commands/" + command(7), "", 404, "command_unknown"},
		{"GET", "/v1/commands/x", "", 404, "command_unknown"},
		{"POST", "/v1/commands/" + command(7) + "/result", `{"lines":[{"sku":"cola","state":"dispensed"}]}`, 404, "command_unknown"},
		{"POST", "/v1/commands/" + command(1) + "/result", `{"lines":[{"sku":"cola","state":"dispensed"}]}`, 409, "command_state"},
		{"POST", "/v1/commands", "", 405, "invalid_request"},
	} {
		if resp, p := r.do(t, c.method, c.path, c.body); resp.StatusCode != c.status || p["code"] != c.code {
			t.Errorf("%s %s: %d %v", c.method, c.path, resp.StatusCode, p)
		}
	}
	if _, got := r.do(t, "GET", "/v1/commands", ""); ids(got) != command(1) {
		t.Fatalf("a question took it: %v", got)
	}
}

func TestHealthShowsCommandsAndTheLastQuestion(t *testing.T) {
	r := start(t, nil)
	_, h := r.do(t, "GET", "/v1/health", "")
	if c := h["commands"].(map[string]any); c["last_ask_ms"] != nil || c["last_answer_ms"] != nil || h["allowance_known"] != false {
		t.Fatalf("%v", h)
	}
	r.asked(t, vend(1), vend(2))
	r.do(t, "GET", "/v1/commands", "")
	r.mono = 1500 * time.Millisecond
	_, h = r.do(t, "GET", "/v1/health", "")
	if c := h["commands"].(map[string]any); c["ready"] != 1.0 || c["dispensing"] != 1.0 || c["last_ask_ms"] != 1500.0 || c["last_answer_ms"] != 1500.0 {
		t.Fatalf("%v", h)
	}
	r.link.status.Connected, r.link.status.Owed = true, silence
	if _, h = r.do(t, "GET", "/v1/health", ""); h["status"] != "degraded" || h["answer_owed_ms"] != 10_000.0 {
		t.Fatalf("a cloud that says nothing: %v", h)
	}
}

func TestALongPollForCommandsIsOneOfAFew(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxWaits = 1 })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for { // until it has the place
			if resp, _ := r.do(t, "GET", "/v1/commands?wait=20s", ""); resp.StatusCode == http.StatusOK {
				return
			}
		}
	}()
	for range 1000 {
		if resp, _ := r.do(t, "GET", "/v1/commands?wait=1ms", ""); resp.StatusCode == http.StatusServiceUnavailable {
			r.asked(t, vend(1))
			<-ended
			return
		}
	}
	t.Fatal("there are places for everybody")
}
