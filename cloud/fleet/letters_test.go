package fleet_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vendline/cloud/letter"
	"vendline/cloud/outbox"
)

func TestDeadLettersAreShownWithTheirReason(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.letters = []letter.Letter{
			{ID: "1", Source: "mqtt", Reason: "is not valid JSON", Payload: []byte(`{"é`), Attempts: 3, Meta: map[string]string{"cabinet": "C001"}},
			{ID: "2", Source: "queue", Payload: []byte{0xff, 0x00}},
			{ID: "3", Source: "queue", Payload: []byte("a" + strings.Repeat("é", 5000))},
		}
	})
	var p struct {
		Total   int64
		Letters []struct {
			ID, Source, Reason string
			Attempts, Bytes    int
			Meta               map[string]string
			Text               *string
			Base64             []byte
		} `json:"dead_letters"`
	}
	if status := s.get(t, "/v1/fleet/dead-letters", &p); status != 200 || p.Total != 3 || len(p.Letters) != 3 {
		t.Fatalf("HTTP %d: %+v", status, p)
	}
	if l := p.Letters[0]; l.Reason != "is not valid JSON" || *l.Text != `{"é` || l.Attempts != 3 || l.Meta["cabinet"] != "C001" {
		t.Errorf("%+v", l)
	}
	if l := p.Letters[1]; l.Text != nil || string(l.Base64) != "\xff\x00" {
		t.Errorf("%+v", l)
	}
	if l := p.Letters[2]; l.Bytes != 10001 || len(*l.Text) != 4095 || strings.ContainsRune(*l.Text, '\ufffd') {
		t.Errorf("a long one is cut to %d bytes of %d", len(*l.Text), l.Bytes)
	}
}

// post sends JSON, and reads the answer into v.
func (s *site) send(t *testing.T, path, body string, v any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	check(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := s.Client().Do(r)
	check(t, err)
	defer res.Body.Close()
	check(t, json.NewDecoder(res.Body).Decode(v))
	return res.StatusCode
}

type outcomes struct {
	Done, Refused int
	DryRun        bool `json:"dry_run"`
	Outcomes      []struct {
		ID, Action, Refused string
		Done                bool
	}
	Code string
}

func letterID(n int) string { return fmt.Sprintf("0190a7d2-4b1c-7000-8000-%012d", n) }

func letters() []letter.Letter {
	var out []letter.Letter
	for i, source := range []string{"stock", "mqtt", "callback"} {
		out = append(out, letter.Letter{ID: letterID(i), Source: source, State: letter.Open, Reason: "why", Payload: []byte("what")})
	}
	return out
}

func TestALetterIsShownWithWhatWasDoneWithIt(t *testing.T) {
	s := start(t)
	s.set(func() { s.letters = letters() })
	var p struct {
		Letter  struct{ ID, State, Text string } `json:"dead_letter"`
		History []struct{ Who, What, Note string }
	}
	if status := s.get(t, "/v1/fleet/dead-letters/"+letterID(1), &p); status != 200 || p.Letter.Text != "what" || p.Letter.State != "open" || len(p.History) != 1 || p.History[0].What != "buried" {
		t.Errorf("HTTP %d: %+v", status, p)
	}
	var no struct{ Code string }
	for _, id := range []string{letterID(9), "nobody", "a%20b"} {
		if status := s.get(t, "/v1/fleet/dead-letters/"+id, &no); status != 404 || no.Code != "not_found" {
			t.Errorf("%s: HTTP %d %s", id, status, no.Code)
		}
	}
}

func TestLettersAreRedrivenOneByOneAndTheRefusedHoldUpNobody(t *testing.T) {
	s := start(t)
	s.set(func() { s.letters = letters() })
	var p outcomes
	if status := s.send(t, "/v1/fleet/dead-letters/redrive", `{"all":true,"dry_run":true}`, &p); status != 200 || !p.DryRun || p.Done != 2 || p.Refused != 1 || len(s.done) > 0 {
		t.Errorf("dry run: HTTP %d: %+v", status, p)
	}
	p = outcomes{}
	if status := s.send(t, "/v1/fleet/dead-letters/redrive", fmt.Sprintf(`{"ids":[%q,%q,%q,%q],"who":"ann"}`, letterID(0), letterID(1), letterID(2), letterID(9)), &p); status != 200 || p.Done != 2 || p.Refused != 2 || p.Outcomes[1].Refused == "" {
		t.Errorf("HTTP %d: %+v", status, p)
	}
	p = outcomes{}
	if status := s.send(t, "/v1/fleet/dead-letters/discard", fmt.Sprintf(`{"ids":[%q],"note":"seen"}`, letterID(0)), &p); status != 200 || p.Done != 1 {
		t.Errorf("HTTP %d: %+v", status, p)
	}
	if want := []string{letterID(0) + " redrive by ann", letterID(2) + " redrive by ann", letterID(0) + " discard by operator: seen"}; !slices.Equal(s.done, want) {
		t.Errorf("done %v", s.done)
	}
}

func TestWhatIsAskedOfLettersIsChecked(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ path, body string }{
		{"redrive", `{}`},
		{"redrive", `{"ids":["` + letterID(1) + `"],"all":true}`},
		{"redrive", `{"ids":["a b"]}`},
		{"redrive", `{"ids":["` + letterID(1) + `"],"source":"stock"}`},
		{"redrive", `{"all":true,"source":"elsewhere"}`},
		{"redrive", `{"ids":["` + letterID(1) + `"],"note":"why"}`},
		{"redrive", `{"ids":["a"],"dry":true}`},
		{"discard", `{"ids":["` + letterID(1) + `"]}`},
		{"discard", `{"ids":["` + letterID(1) + `"],"note":"  "}`},
		{"discard", `{"ids":["` + letterID(1) + `"],"note":"` + strings.Repeat("x", 201) + `"}`},
	} {
		var p outcomes
		if status := s.send(t, "/v1/fleet/dead-letters/"+c.path, c.body, &p); status != 400 || p.Code != "invalid_request" {
			t.Errorf("%s %s: HTTP %d %s", c.path, c.body, status, p.Code)
		}
	}
	for _, q := range []string{"state=shut", "source=x", "cabinet=a%2Fb", "after=x", "q=" + strings.Repeat("x", 201)} {
		var p outcomes
		if status := s.get(t, "/v1/fleet/dead-letters?"+q, &p); status != 400 || p.Code != "invalid_request" {
			t.Errorf("%s: HTTP %d %s", q, status, p.Code)
		}
	}
}

func TestStuckRowsAreShownWithTheirError(t *testing.T) {
	s := start(t)
	s.set(func() {
		s.stuck = []outbox.Waiting{{Row: outbox.Row{ID: "r", Kind: outbox.KindRedis, Payload: []byte("[]"), Attempts: 9, CreatedAt: time.UnixMilli(1)}, LastError: "away"}}
	})
	var p struct {
		Kinds []struct {
			Kind, End string
			Depth     int64
		}
		Stuck []struct {
			ID, Text string
			Attempts int
			Error    string `json:"last_error"`
		}
	}
	if status := s.get(t, "/v1/fleet/outbox", &p); status != 200 || len(p.Kinds) == 0 || p.Kinds[0].End == "" || len(p.Stuck) != 1 || p.Stuck[0].Error != "away" || p.Stuck[0].Text != "[]" {
		t.Errorf("HTTP %d: %+v", status, p)
	}
	s.set(func() { s.away["ledger"] = errAway })
	var no struct{ Code string }
	if status := s.get(t, "/v1/fleet/outbox", &no); status != 503 {
		t.Errorf("HTTP %d", status)
	}
}
