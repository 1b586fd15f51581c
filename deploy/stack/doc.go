// Package stack starts the real servers Vendline stands on (redis-server,
// mariadbd, mosquitto, RocketMQ) on loopback, with private ports and a private
// data folder, for tests, drills, benchmarks and `make up`.
//
// Nothing of the machine is touched: no system service, no file outside the
// stack's own folder, and two stacks run side by side. Every server runs as
// the user who started it, root included, because a private folder may stand
// where only that user can enter.
//
// A test asks for the shared stack of the run with [Need], or starts servers
// of its own, to be killed at will, with [Own].
package stack
