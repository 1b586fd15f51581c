// Package queuetest is the contract of package queue as a test suite. Every
// adapter runs it against its real server, restarts included.
package queuetest

import (
	"testing"

	"vendline/cloud/queue"
)

// Queue is everything an adapter offers.
type Queue interface {
	queue.Sender
	queue.Receiver
	queue.Depther
}

// Target is an adapter under test. All functions fail t themselves.
type Target struct {
	// Queue returns a client of the server. Two of them are two processes where
	// the adapter can be opened twice, else the same one again.
	Queue func(t *testing.T) Queue
	// Topic returns a topic that is empty and ready.
	Topic func(t *testing.T) string
	// Restart ends the server the hard way, starts it again, and returns the
	// queue to go on with. If that is the one passed in, its receivers go on too.
	Restart func(t *testing.T, q Queue) Queue
	// Unreachable returns a queue whose server is not there.
	Unreachable func(t *testing.T) Queue
}

// Run runs the whole suite.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		promise string
		check   func(t *testing.T, target Target)
	}{
		{"what is sent arrives, byte for byte", arrives},
		{"sending nothing is no error", sendsNothing},
		{"many senders at once lose nothing", manySenders},
		{"a body of MaxBody passes", largestBody},
		{"a body over MaxBody is refused", oversizeBody},
		{"one Send may exceed what one request carries", largeSend},
		{"an error brings all messages back", errorBringsBack},
		{"a panic brings all messages back", panicBringsBack},
		{"a poison message holds nobody else for ever", poisonIsolated},
		{"handlers run concurrently", concurrentHandlers},
		{"messages arrive together under load", batches},
		{"delayed messages come, and never early", delayed},
		{"a new group starts at the oldest message", newGroup},
		{"two groups each get everything", twoGroups},
		{"two members share the work and one may leave", twoMembers},
		{"stop waits for handlers under way", stopWaits},
		{"the end of the context ends deliveries", contextEnds},
		{"depth falls to 0 once quiet", depth},
		{"unknown depth is an error, never 0", depthUnknown},
		{"sending to a server that is away fails within the context", sendUnreachable},
		{"a restart loses nothing that Send accepted", restart},
		{"what waits survives a restart", restartWaiting},
	} {
		t.Run(c.promise, func(t *testing.T) { c.check(t, target) })
	}
}
