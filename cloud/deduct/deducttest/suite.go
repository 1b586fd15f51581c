// Package deducttest is the contract of the stock in Redis, as checks that run
// over any server that can run the scripts: an embedded one, redis-server, a
// cluster. Each check uses a cabinet of its own, so a shared server will do.
package deducttest

import (
	"testing"

	"vendline/cloud/deduct"
	"vendline/lua"
)

// Rig is a server under test.
type Rig struct {
	Addr    string         // host:port
	Servers deduct.Servers // how to reach it
	Scripts *lua.Scripts   // nil means the embedded ones
}

// Promise is one thing the stock promises, and its check.
type Promise struct {
	Name  string
	Check func(T, *Fixture)
}

// Promises are all of them.
func Promises() []Promise {
	var all []Promise
	for _, some := range [][]Promise{deducts(), limits(), releases(), facts(), settles(), loads(), reads(), faults(), freezes()} {
		all = append(all, some...)
	}
	return all
}

// Run checks every promise on a server.
func Run(t *testing.T, rig Rig) {
	for _, p := range Promises() {
		t.Run(p.Name, func(t *testing.T) { p.Check(t, NewFixture(t, rig)) })
	}
}
