package scan

import (
	"context"
	"net/http"
	"time"

	"vendline/edge/dispense"
	"vendline/shared/wire"
)

// Commands is the journal as the API needs it. *dispense.Journal is one.
type Commands interface {
	// Next hands out a command, once for ever.
	Next(ctx context.Context) (c dispense.Command, ok bool, err error)
	// Changed is closed when Next may have something.
	Changed() <-chan struct{}
	Dispensing() ([]dispense.Command, error)
	Get(id string) (dispense.Command, error)
	Result(ctx context.Context, id string, lines []dispense.Result, final bool) (dispense.Command, error)
	Status() dispense.Status
}

// commands answers GET /v1/commands; it is a list so that "none" is no special case.
type commands struct {
	Commands []dispense.Command `json:"commands"`
}

// getCommands hands out the next command, waiting for one if asked to; or, with
// state=dispensing, lists those that were handed out, and hands out nothing.
func (a *api) getCommands(w http.ResponseWriter, r *http.Request) error {
	switch state := r.URL.Query().Get("state"); state {
	case "":
		return a.nextCommand(w, r)
	case string(dispense.Dispensing):
		list, err := a.Commands.Dispensing()
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, commands{list})
		return nil
	}
	return &wire.FieldError{Path: "state", Problem: "must be dispensing, or left out to be handed a command"}
}

func (a *api) nextCommand(w http.ResponseWriter, r *http.Request) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	if wait > 0 {
		leave, err := enter(a.waits)
		if err != nil {
			return err
		}
		defer leave()
		// Not every ResponseWriter has deadlines; without one the wait is only shorter.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + 15*time.Second))
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		changed := a.Commands.Changed() // before Next, so that nothing falls in between
		c, ok, err := a.Commands.Next(r.Context())
		if err != nil {
			return err
		}
		if ok {
			writeJSON(w, http.StatusOK, commands{[]dispense.Command{c}})
			return nil
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		case <-a.stop.Done():
		}
		writeJSON(w, http.StatusOK, commands{[]dispense.Command{}})
		return nil
	}
}

func (a *api) getCommand(w http.ResponseWriter, r *http.Request) error {
	c, err := a.Commands.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

// postedResult is the body of POST /v1/commands/{id}/result.
type postedResult struct {
	Lines []resultLine `json:"lines"`
}

type resultLine struct {
	SKU    string `json:"sku"`
	State  string `json:"state"`
	Units  *int   `json:"units"`
	Detail string `json:"detail"`
}

// postResult answers 202 once the cloud is sure to hear, 200 while lines are missing.
func (a *api) postResult(w http.ResponseWriter, r *http.Request) error {
	var in postedResult
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	final := false
	switch r.URL.Query().Get("final") {
	case "":
	case "true":
		final = true
	case "false":
	default:
		return &wire.FieldError{Path: "final", Problem: "must be true or false"}
	}
	if len(in.Lines) == 0 && !final || len(in.Lines) > wire.MaxLines {
		return &wire.FieldError{Path: "lines", Problem: "must hold 1 to 50 lines"}
	}
	leave, err := enter(a.posts)
	if err != nil {
		return err
	}
	defer leave()
	lines := make([]dispense.Result, len(in.Lines))
	for i, l := range in.Lines {
		lines[i] = dispense.Result{SKU: l.SKU, State: wire.DispenseState(l.State), Units: l.Units, Detail: l.Detail}
	}
	c, err := a.Commands.Result(r.Context(), r.PathValue("id"), lines, final)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if c.State == dispense.Done {
		status = http.StatusAccepted
		w.Header().Set("Location", "/v1/orders/"+c.Event)
	}
	writeJSON(w, status, c)
	return nil
}
