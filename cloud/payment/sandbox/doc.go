// Package sandbox is a payment provider and its server, for the demo, for tests
// and for drills: it signs, repeats, loses and distorts as real ones do, and
// moves no money.
//
// Everything that passes between the two sides, requests, answers and
// callbacks, is signed with HMAC-SHA256 under a secret they share; there is no
// unsigned mode. What each message is, is in its body, so that a signature over
// one can not be used for another.
package sandbox
