package drill

import (
	"encoding/json"
	"math/rand/v2"

	"vendline/cloud/app"
	"vendline/shared/wire"
)

// byScan is one shopper at a cabinet: its firmware posts the scan to the agent
// under an id of its own, until the agent has it on its disk.
func (l *Load) byScan(r *rand.Rand) {
	w := l.plan.wish(r)
	id := app.NewID()
	e := l.enter(Scan, id, id, w)
	l.record(e.ID, l.call.insist(l.hope, r, l.agents[w.cabinet]+"/v1/scan-orders", e.Key, scanBody(w)))
}

// restock is the person with the trolley: the cabinet reports what went in.
func (l *Load) restock(r *rand.Rand) {
	w := l.plan.delivery(r)
	id := app.NewID()
	e := l.enter(Restock, id, id, w)
	l.record(e.ID, l.call.insist(l.hope, r, l.agents[w.cabinet]+"/v1/facts", e.Key, factBody(w)))
}

func scanBody(w wish) []byte {
	return encode(struct {
		User  string      `json:"user"`
		Lines []wire.Line `json:"lines"`
	}{w.user, w.lines})
}

func factBody(w wish) []byte {
	return encode(struct {
		Kind  wire.FactKind `json:"kind"`
		Lines []wire.Line   `json:"lines"`
	}{wire.FactRestock, w.lines})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: strings and integers
	}
	return b
}
