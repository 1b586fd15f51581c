package paymenttest

import (
	"testing"
)

// Run checks every promise of payment.Provider.
func Run(t *testing.T, open Harness) {
	for _, promise := range []struct {
		name string
		keep func(*testing.T, Rig)
	}{
		{"creating twice is creating once", createTwice},
		{"another content under the same number is refused", createOther},
		{"a charge nobody created is not found", queryUnknown},
		{"paying shows in the query", paySeen},
		{"a paid charge is not created again", createPaid},
		{"a closed charge can not be paid", closeUnpaid},
		{"a charge is closed even before it is opened", closeUnseen},
		{"closing a paid charge says so", closePaid},
		{"closing what was never created is closing it", closeUnknown},
		{"closing twice is closing once", closeTwice},
		{"a refund happens once", refundOnce},
		{"refunds never exceed the charge", refundTooMuch},
		{"an unpaid charge is not refunded", refundUnpaid},
		{"a refunded charge stays paid", refundedStaysPaid},
		{"parts add up to the whole", refundParts},
		{"a signed callback is read", callbackRead},
		{"a callback sent again is known by its kind", callbackAgain},
		{"no byte of a callback can change", callbackTampered},
		{"a callback without one of its marks is refused", callbackBare},
		{"an old callback is refused", callbackAge},
		{"no answer is mistaken for another", answers},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.keep(t, open(t)) })
	}
}
