package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Free ports are drawn below the range from which Linux takes the ports of
// outgoing connections (32768 and up): else a client could take the port of a
// killed server before its restart, or, dialling it, connect to itself.
const firstFree, lastFree = 15000, 31999

const host = "127.0.0.1"

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// freePort draws a port that can be listened on now, with its neighbours at
// the given distances. Nobody holds it for us, so a start must be ready to
// find it taken and draw again.
func freePort(neighbours ...int) (int, error) {
	for range 200 {
		port := firstFree + rand.IntN(lastFree-firstFree)
		if err := listenable(port, neighbours...); err == nil {
			return port, nil
		}
	}
	return 0, errors.New("stack: no free TCP port found")
}

// listenable tries to listen on a port and its neighbours, and lets go again.
func listenable(port int, neighbours ...int) error {
	for _, distance := range append([]int{0}, neighbours...) {
		l, err := net.Listen("tcp", address(port+distance))
		if err != nil {
			return err
		}
		l.Close()
	}
	return nil
}

// onPort runs start with the fixed port, or, when that is 0, with free ones
// until one is not taken by somebody else in between.
func onPort(ctx context.Context, what string, fixed int, neighbours []int, start func(port int) error) error {
	if fixed != 0 {
		if err := listenable(fixed, neighbours...); err != nil {
			return fmt.Errorf("stack: %s wants port %d: %w (see who has it with `ss -ltnp`, or choose another)", what, fixed, err)
		}
		return start(fixed)
	}
	for tries := 0; ; tries++ {
		port, err := freePort(neighbours...)
		if err != nil {
			return err
		}
		err = start(port)
		if !errors.Is(err, errPortTaken) || tries == 9 || ctx.Err() != nil {
			return err
		}
	}
}
