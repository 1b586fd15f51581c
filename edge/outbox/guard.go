package outbox

import (
	"fmt"
	"runtime/debug"
)

// guard runs fn and turns its panics into ErrDamaged. bbolt panics on a page it
// did not expect, and reading a mapped page that the disk can not deliver is a
// fault; SetPanicOnFault makes that a panic too, for this goroutine.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return fn()
}
