//go:build !linux

package stack

import (
	"errors"
	"os"
	"syscall"
)

// The servers are started and tracked through Linux's process groups and
// /proc. The package still builds elsewhere, for the commands beside it.
var errNotLinux = errors.New("stack: the real servers are started on Linux only: here, use `docker compose -f deploy/compose.yaml up`, or the embedded mode")

func processGroup(bool) *syscall.SysProcAttr { return nil }
func signalGroup(int, os.Signal) error       { return errNotLinux }
func pauseGroup(int) error                   { return errNotLinux }
func resumeGroup(int) error                  { return errNotLinux }
func killGroup(int) error                    { return errNotLinux }
func reloadGroup(int) error                  { return errNotLinux }
func endGroup(int) error                     { return errNotLinux }
func identity(int) ([]string, string, error) { return nil, "", errNotLinux }
func lock(string) (func(), error)            { return nil, errNotLinux }
