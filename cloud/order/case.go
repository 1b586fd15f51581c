package order

import "time"

// Case is something that a person has to look at. The same (Kind, Subject) is
// one case however often it is found.
type Case struct {
	ID        string
	Kind      CaseKind
	Subject   string // what it is about: an order's, payment's or refund's id, or "cabinet/slot"
	Order     string // if there is one
	Cabinet   string // likewise
	Detail    string
	Closed    bool
	Note      string // of whoever closed it
	CreatedAt time.Time
	ChangedAt time.Time
}

// CaseKind says what is wrong.
type CaseKind string

// Kinds of cases.
const (
	CasePaymentMismatch CaseKind = "payment_mismatch" // amount, currency, merchant or order of a payment are not what was asked
	CasePaymentUnknown  CaseKind = "payment_unknown"  // money came for an order that does not exist
	CaseRefundStuck     CaseKind = "refund_stuck"     // the provider does not give the money back
	CaseNotDispensed    CaseKind = "not_dispensed"    // paid, and the cabinet never said that it dispensed
	CaseLineUnknown     CaseKind = "line_unknown"     // the power went after the motor started
	CaseVendedRefunded  CaseKind = "vended_refunded"  // dispensed after all, and refunded already
	CaseSlotFault       CaseKind = "slot_fault"       // a slot is out of order
	CaseShortage        CaseKind = "shortage"         // paid orders that could not be met
	CaseBooks           CaseKind = "books"            // the ledger's own books do not agree
)
