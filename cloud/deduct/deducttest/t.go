package deducttest

import "context"

// T is what a check needs of a test: *testing.T, a property's *rapid.T, and a
// recorder that expects a broken script to be caught all have it.
type T interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
	Cleanup(func())
}
