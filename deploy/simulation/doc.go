// Package simulation plays Vendline by a seed: the real code of the cloud and of the
// cabinets, on a clock, a network, a queue, a Redis and a payment provider that
// are the seed's. Whatever is under way stops before and after each durable
// step, and the seed says who goes on: another task of the same process or of
// the other one, a cabinet, a shopper; or that a process dies there, a message
// is lost, doubled or overtaken, Redis forgets, a cabinet loses power. Then the
// faults end, everything comes to rest, and what must hold is checked.
//
// The same seed is the same history, to the byte: nothing asks for the time, for
// chance or for an id but through the world, and one goroutine of ours runs at a
// time. It needs no Go toolchain, so `vend replay` tells a history anywhere.
//
// Files: sched.go decides who goes on; world.go is what outlives processes;
// cloud.go and ports.go are a process of the cloud and how it reaches the world,
// cabinet.go and wire.go the cabinets and the way to them, people.go who buys;
// fault.go, redis.go, queue.go and till.go go wrong; model.go is what must be
// true after every step, verdict.go at the end; bug.go leaves rules out.
package simulation
