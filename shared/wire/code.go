package wire

// Code is a stable, machine-readable reason. The same codes appear in HTTP
// problems and in MQTT verdicts, so that an app and a cabinet branch alike.
type Code string

// Accepted is the verdict of an order whose hold is durable.
const Accepted Code = "accepted"

// Refusals. Retryable ones may be sent again under the same id or key.
const (
	CodeInvalidRequest      Code = "invalid_request"      // malformed or out of bounds; fix the request
	CodeStockShort          Code = "stock_short"          // some SKU has fewer units than asked; nothing was taken
	CodePurchaseLimit       Code = "purchase_limit"       // the shopper's limit for a SKU would be exceeded
	CodeSKUUnknown          Code = "sku_unknown"          // this cabinet does not sell that SKU
	CodeCabinetUnknown      Code = "cabinet_unknown"      // no such cabinet
	CodeOrderUnknown        Code = "order_unknown"        // no such order
	CodeIdempotencyConflict Code = "idempotency_conflict" // same id or key, other content; the first stands
	CodeOrderReleased       Code = "order_released"       // the attempt under this id was given back; use a new one
	CodeOrderState          Code = "order_state"          // the order's state does not allow this
	CodePriceChanged        Code = "price_changed"        // priced under an older version; the new prices come along
	CodeSlotSuspended       Code = "slot_suspended"       // the SKU's slots at this cabinet are out of order
	CodeVersionConflict     Code = "version_conflict"     // somebody changed it first; read it again
	CodePaymentUnknown      Code = "payment_unknown"      // no such payment, or no such way of paying
	CodeUnsigned            Code = "unsigned"             // a callback that is not the provider's, too old, or seen before
	CodeFenced              Code = "fenced"               // the cabinet's stock is being rebuilt; retryable
	CodeOverloaded          Code = "overloaded"           // too much at once; retryable
	CodeUnavailable         Code = "unavailable"          // a server behind us is away; retryable
	CodeTooLarge            Code = "too_large"            // the message is over its size limit
	CodeUnsupported         Code = "unsupported_version"  // an envelope version we do not speak
	CodeNotFound            Code = "not_found"            // no such resource
	CodeInternal            Code = "internal"             // our fault; retryable
)

// Retryable reports whether sending the same thing again, under the same id,
// can succeed without anybody changing it.
func (c Code) Retryable() bool {
	switch c {
	case CodeFenced, CodeOverloaded, CodeUnavailable, CodeInternal:
		return true
	}
	return false
}
