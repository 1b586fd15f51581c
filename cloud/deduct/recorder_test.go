package deduct_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder is a test whose failure is the answer looked for.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	said     string
	cleanups []func()
}

// watch runs a check to its end or its first fatal failure, and returns the
// first thing it complained of.
func watch(t *testing.T, check func(*recorder)) string {
	r := &recorder{ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r.said
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == "" {
		r.said = text
	}
}

func (r *recorder) Helper()                      {}
func (r *recorder) Name() string                 { return "planted" }
func (r *recorder) Context() context.Context     { return r.ctx }
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(...any)                   {}
func (r *recorder) Logf(string, ...any)          {}
func (r *recorder) Error(args ...any)            { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.fail(fmt.Sprintf(f, args...)) }
func (r *recorder) Fail()                        { r.fail("failed") }
func (r *recorder) Failed() bool                 { r.mu.Lock(); defer r.mu.Unlock(); return r.said != "" }
func (r *recorder) Fatal(args ...any)            { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); runtime.Goexit() }
func (r *recorder) FailNow()                     { r.Fail(); runtime.Goexit() }
func (r *recorder) Skip(...any)                  { runtime.Goexit() }
func (r *recorder) Skipf(string, ...any)         { runtime.Goexit() }
func (r *recorder) SkipNow()                     { runtime.Goexit() }
