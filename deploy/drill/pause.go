package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"vendline/deploy/stack"
)

// pauseFaults freeze each part: its connections stay open, and nobody answers.
func pauseFaults() []Fault {
	agent := func(s *Site) *stack.Server { return s.Agents[s.Plan.Cabinets[0]] }
	return []Fault{
		{Name: "agent paused", Strike: pause(agent, linkless(httpHello("/v1/health"))), Asked: true},
		{Name: "vend-cloud paused", Strike: pause(func(s *Site) *stack.Server { return s.Cloud }, linkless(httpHello("/healthz")))},
		{Name: "mosquitto paused", Strike: pause(func(s *Site) *stack.Server { return s.Stack.Mosquitto }, of(linkIntake)), Asked: true},
		{Name: "mariadbd paused", Strike: pause(func(s *Site) *stack.Server { return s.Stack.MariaDB }, of(linkLedger)), Asked: true},
		{Name: "RocketMQ broker paused", Strike: pause(func(s *Site) *stack.Server { return s.Stack.Broker }, of(linkBroker)), Asked: true},
		{Name: "RocketMQ namesrv paused", Strike: pause(func(s *Site) *stack.Server { return s.Stack.Namesrv }, of(linkNamesrv)), Asked: true},
		{Name: "redis paused", Strike: pause(func(s *Site) *stack.Server { return s.Stack.Redis }, of(linkStock)), Away: true, Asked: true},
	}
}

func linkless(hello []byte) func(*Site) []byte { return func(*Site) []byte { return hello } }
func of(link string) func(*Site) []byte {
	return func(s *Site) []byte { return s.links.all[link].hello }
}

// pause freezes a part, makes sure that it is frozen, and lets it go on.
func pause(part func(*Site) *stack.Server, hello func(*Site) []byte) func(context.Context, *Site, time.Duration) error {
	return func(ctx context.Context, s *Site, _ time.Duration) (err error) {
		server := part(s)
		pid := server.PID()
		if err := server.Pause(); err != nil {
			return err
		}
		over := time.After(s.Times.Pause)
		frozen := isFrozen(ctx, server, hello(s))
		select {
		case <-over:
		case <-ctx.Done():
		}
		if err := errors.Join(frozen, server.Resume()); err != nil {
			return err
		}
		if server.PID() != pid {
			return fmt.Errorf("drill: %s did not live through its pause; its log is %s", server.Name(), server.Log())
		}
		return server.WaitReady(ctx)
	}
}

// isFrozen reports, as an error, a process that is not stopped, or that answers.
func isFrozen(ctx context.Context, server *stack.Server, hello []byte) error {
	if err := stopped(server.PID()); err != nil {
		return err
	}
	if h := hear(ctx, server.Addr(), hello, 700*time.Millisecond); h.bytes > 0 || !h.timedOut() {
		return fmt.Errorf("drill: %s is paused and answers with %d bytes (%v)", server.Name(), h.bytes, h.err)
	}
	return nil
}

// stopped waits for the kernel to say so: a signal takes its time.
func stopped(pid int) error {
	state := ""
	for range 100 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		// The name, in brackets, may hold anything; the state follows it.
		if _, state, _ = strings.Cut(string(text), ") "); strings.HasPrefix(state, "T") {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("drill: process %d was paused and is in state %.1s", pid, state)
}
