package planogram_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"vendline/cloud/outbox"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// books are planograms, and what was done about their rows.
type books struct {
	states         map[string]planogram.State
	told           []string
	deleted, grave []string
	away           error
}

func (b *books) Planograms(context.Context, ...string) (map[string]planogram.State, error) {
	return b.states, b.away
}
func (b *books) Delete(_ context.Context, ids ...string) error {
	b.deleted = append(b.deleted, ids...)
	return nil
}
func (b *books) Bury(_ context.Context, _, _ string, payload []byte, _ map[string]string) error {
	b.grave = append(b.grave, string(payload))
	return nil
}
func (b *books) Planogram(cabinet string, p wire.Planogram) {
	b.told = append(b.told, cabinet+"/"+strconv.FormatInt(p.Version, 10))
}

func row(id, payload string) outbox.Row {
	return outbox.Row{ID: id, Kind: outbox.KindPlanogram, Payload: []byte(payload)}
}

func TestACabinetIsToldItsNewestVersionUntilItAnswers(t *testing.T) {
	b := &books{states: map[string]planogram.State{
		"C1": {Cabinet: "C1", Planogram: wire.Planogram{Version: 2}, Acked: 1},
		"C2": {Cabinet: "C2", Planogram: wire.Planogram{Version: 1}, Acked: 1},
	}}
	r := &planogram.Runner{Ledger: b, Publisher: b}
	err := r.Carry(t.Context(), []outbox.Row{
		row("old", `{"cabinet":"C1","version":1}`), row("new", `{"cabinet":"C1","version":2}`),
		row("acked", `{"cabinet":"C2","version":1}`), row("nobody", `{"cabinet":"C9","version":1}`), row("junk", `{`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.told, []string{"C1/2"}) || !slices.Equal(b.deleted, []string{"old", "acked", "nobody", "junk"}) || len(b.grave) != 2 {
		t.Errorf("told %v, deleted %v, buried %v", b.told, b.deleted, b.grave)
	}
}

func TestRowsStayWhileTheLedgerIsAway(t *testing.T) {
	b := &books{away: errors.New("away")}
	r := &planogram.Runner{Ledger: b, Publisher: b}
	if err := r.Carry(t.Context(), []outbox.Row{row("new", `{"cabinet":"C1","version":2}`)}); err == nil || len(b.deleted)+len(b.told) > 0 {
		t.Errorf("%v, deleted %v, told %v", err, b.deleted, b.told)
	}
}
