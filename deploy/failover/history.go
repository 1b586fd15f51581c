package failover

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind of an operation on one cabinet's units of one SKU.
type Kind byte

// Kinds.
const (
	Take Kind = iota // an order
	Give             // its cancellation
)

// Op is one operation, as its caller saw it.
type Op struct {
	Kind   Kind
	Units  int
	Called time.Duration
	Back   time.Duration // when it was answered
	Yes    bool
	// Unknown: nobody was told; it may have happened at any time since, or never.
	Unknown bool
	// Doubted: Redis was failing over meanwhile. It may have said no because it had
	// forgotten that units had come back; that costs a sale and oversells nothing.
	Doubted bool
}

// History gathers operations by cabinet. Safe for concurrent use.
type History struct {
	mu  sync.Mutex
	ops map[string][]Op
}

// Add notes one.
func (h *History) Add(cabinet string, o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ops == nil {
		h.ops = map[string][]Op{}
	}
	h.ops[cabinet] = append(h.ops[cabinet], o)
}

// Ops are a cabinet's.
func (h *History) Ops(cabinet string) []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ops[cabinet]
}

// units is the sequential truth: a number of units, which only an order takes,
// and only if they are there.
func units(opening int) porcupine.NondeterministicModel {
	return porcupine.NondeterministicModel{
		Init: func() []any { return []any{opening} },
		Step: func(state, input, _ any) []any {
			n, o := state.(int), input.(Op)
			switch {
			case o.Kind == Give && o.Unknown:
				return []any{n, n + o.Units}
			case o.Kind == Give:
				return []any{n + o.Units}
			case o.Unknown && n >= o.Units:
				return []any{n, n - o.Units}
			case o.Unknown:
				return []any{n}
			case o.Yes && n < o.Units:
				return nil // sold what is not there
			case o.Yes:
				return []any{n - o.Units}
			case n >= o.Units && !o.Doubted:
				return nil // refused what is there
			}
			return []any{n}
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	}
}

// Check says whether there is an order of operations, each between its call and
// its answer, that one shelf could have seen. A cancellation reaches Redis a
// moment after it is answered: it may take effect until lag later.
func Check(ops []Op, opening int, lag, limit time.Duration) porcupine.CheckResult {
	model := units(opening)
	var all []porcupine.Operation
	for i, o := range ops {
		back := int64(o.Back)
		if o.Kind == Give {
			back += int64(lag)
		}
		if o.Unknown {
			back = math.MaxInt64
		}
		all = append(all, porcupine.Operation{ClientId: i, Input: o, Call: int64(o.Called), Output: o.Yes, Return: back})
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), all, limit)
}
