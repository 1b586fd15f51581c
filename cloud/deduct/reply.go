package deduct

import (
	"fmt"
	"strconv"

	"vendline/cloud/order"
	"vendline/lua"
	"vendline/shared/wire"
)

// reply is what a script answered: a code, the generation, and what follows.
type reply struct {
	code       int
	generation string
	rest       []any
}

func read(s *lua.Script, answer any) (reply, error) {
	list, _ := answer.([]any)
	if len(list) < 2 {
		return reply{}, fmt.Errorf("redis: %s: unreadable reply %v", s.Name, answer)
	}
	code, isCode := list[0].(int64)
	generation, isText := list[1].(string)
	if !isCode || !isText {
		return reply{}, fmt.Errorf("redis: %s: unreadable reply %v", s.Name, answer)
	}
	return reply{code: int(code), generation: generation, rest: list[2:]}, nil
}

// integer is element i of the rest, whether it came as a number or as text; 0
// when it is missing.
func (r reply) integer(i int) int64 {
	if i >= len(r.rest) {
		return 0
	}
	switch v := r.rest[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// text is element i of the rest, "" when it is missing.
func (r reply) text(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	s, _ := r.rest[i].(string)
	return s
}

// list is element i of the rest as a list.
func (r reply) list(i int) []any {
	if i >= len(r.rest) {
		return nil
	}
	l, _ := r.rest[i].([]any)
	return l
}

// run is the incarnation and the ticket of an answer whose rest begins with one.
func (r reply) run() order.Run {
	return order.Run{Generation: r.generation, Ticket: r.integer(0)}
}

// refused is the table from a script's no to an error; nil for a yes.
func (r reply) refused() error {
	switch r.code {
	case lua.OK, lua.Seen:
		return nil
	case lua.Fenced:
		return order.ErrNotLoaded
	case lua.Moved:
		return ErrMoved
	case lua.Malformed:
		return &order.Refusal{Code: wire.CodeInvalidRequest, Detail: "not possible: " + r.text(0)}
	case lua.Unknown:
		return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: r.text(0) + " is not sold by this cabinet"}
	case lua.Conflict:
		return &order.Refusal{Code: wire.CodeIdempotencyConflict, Detail: "this id came first with other content"}
	case lua.Limit:
		return &order.Refusal{Code: wire.CodePurchaseLimit,
			Detail: fmt.Sprintf("%s: at most %d units in 24 hours, %d of them used", r.text(0), r.integer(1), r.integer(2))}
	case lua.Short:
		return r.short()
	}
	return fmt.Errorf("redis: unknown reply code %d", r.code)
}

// short lists the short SKUs. What the shelves owe (sellable below 0) is
// nothing to sell, not less than nothing.
func (r reply) short() error {
	no := &order.Refusal{Code: wire.CodeStockShort, Detail: "too few units left"}
	for i := 0; i+2 < len(r.rest); i += 3 {
		no.Short = append(no.Short, wire.Shortage{SKU: r.text(i), Want: int(r.integer(i + 1)), Have: max(0, int(r.integer(i+2)))})
	}
	return no
}
