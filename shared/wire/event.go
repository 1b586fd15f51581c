package wire

import (
	"encoding/json"
	"fmt"
)

// Encode marshals a message of ours; it cannot fail for the types of this package.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: encode %T: %v", v, err)) // unreachable: no maps, channels or cycles here
	}
	return b
}

// DecodeEvent reads an event that arrived for cabinet on channel c and checks
// all of it but the stock: version, ids, seq, identity and basket. The basket
// comes back merged. On error the event still holds what could be read, so that
// a refusal can name the id, epoch and seq it refuses.
func DecodeEvent(data []byte, cabinet string, c Channel) (Event, error) {
	var e Event
	if err := Decode(data, MaxMessage, &e); err != nil {
		return e, err
	}
	switch {
	case e.V != Version:
		return e, &FieldError{Path: "v", Problem: fmt.Sprintf("must be %d", Version)}
	case e.Cabinet != cabinet:
		return e, &FieldError{Path: "cabinet", Problem: "must equal the topic's cabinet"}
	case !ValidID(e.ID):
		return e, &FieldError{Path: "id", Problem: "must be a lower-case UUID"}
	case !ValidID(e.Epoch):
		return e, &FieldError{Path: "epoch", Problem: "must be a lower-case UUID"}
	case e.Seq < 1:
		return e, &FieldError{Path: "seq", Problem: "must be 1 or more"}
	case (e.Order != nil) != (c == ChannelOrder) || (e.Fact != nil) != (c == ChannelFact):
		return e, &FieldError{Path: string(c), Problem: "must be the one body of a message on this topic"}
	}
	var err error
	if e.Order != nil {
		if !ValidUser(e.Order.User) {
			return e, &FieldError{Path: "order.user", Problem: "must be 1 to 64 letters, digits, '.', '_', '@', ':' or '-'"}
		}
		if e.Order.PricedAt < 0 {
			return e, &FieldError{Path: "order.priced_at", Problem: "must be 0 or more"}
		}
		e.Order.Lines, err = Basket(e.Order.Lines)
	} else {
		err = e.Fact.Check()
	}
	return e, err
}
