// Package dispense is the cabinet's half of vending: at most once, whatever
// happens to the power, the network or the firmware.
//
// The cloud says "wake", the cabinet asks, and the answer names every command
// that waits, each with the milliseconds it may still live, counted from the
// moment of the asking by the cabinet's own monotonic clock. So an answer that a
// slow network delivers late is over when it arrives, and no clock has to be
// right.
//
// # A command's life
//
//	ready ── handed out ──> dispensing ── result of all lines ──> done
//	  └──── deadline ────────────────────────────────────────────> done (expired)
//	                        dispensing ── power cut, no result ──> done (unknown)
//
// Each arrow is one commit of the outbox's file, with the event that tells of it
// inside. Nothing leads back, and a command that is done is not handed out: that
// is the whole of "at most once".
//
// # Why it may forget
//
// Commands that are done are kept by count, and longer if need be: until their
// life and an hour are over, by this process's clock. The cloud offers no
// command after its deadline, which lies at most one life and the asking's way
// to the cloud after the moment we first heard of it, and a connection on which
// an ask lies around for an hour has long been given up. So an answer that
// names a forgotten command comes after its deadline, and an answer that comes
// after the deadline never vends.
package dispense
