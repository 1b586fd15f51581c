package stackcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"vendline/deploy/stack"
)

// Status tells what runs, and ends with code 1 when something recorded is down.
type Status struct {
	Dir  string `help:"The folder given to 'up'." type:"path" default:"var/stack"`
	JSON bool   `help:"As JSON, for a program." name:"json"`

	Out io.Writer `kong:"-"` // standard output when nil
}

// State is what status --json prints. It holds no secret: those are in stack.json.
type State struct {
	Dir       string         `json:"dir"`
	Running   bool           `json:"running"` // all of them
	Processes []ProcessState `json:"processes"`
}

// ProcessState is one recorded process, running or not.
type ProcessState struct {
	Name    string `json:"name"`
	Addr    string `json:"addr"`
	PID     int    `json:"pid"`
	Running bool   `json:"running"`
	Log     string `json:"log"`
}

// Run does it.
func (s Status) Run(context.Context) error {
	out := s.Out
	if out == nil {
		out = os.Stdout
	}
	d, err := stack.Load(s.Dir)
	if err != nil {
		return err
	}
	state := State{Dir: d.Dir, Running: len(d.Processes) > 0, Processes: []ProcessState{}}
	for _, r := range d.Processes {
		alive := r.Alive()
		state.Running = state.Running && alive
		state.Processes = append(state.Processes, ProcessState{r.Name, r.Addr, r.PID, alive, r.Log})
	}
	if s.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(state)
	} else {
		err = state.table(out)
	}
	if err == nil && !state.Running {
		return ExitError{1}
	}
	return err
}

func (s State) table(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, p := range s.Processes {
		word := "down"
		if p.Running {
			word = "running"
		}
		fmt.Fprintf(table, "%s\t%s\tpid %d\t%s\t%s\n", p.Name, p.Addr, p.PID, word, p.Log)
	}
	return table.Flush()
}
