package outbox

// Step names a durable step. A test's hook is called right before and right
// after each, and ends the process there; in production the hook is nil.
type Step string

// The durable steps, in the order a file lives through them. Whoever writes books
// names steps of its own (Write), which happen with the commit that carries them.
const (
	StepCreate     Step = "create"     // a new file takes its name
	StepQuarantine Step = "quarantine" // a damaged file gives up its name
	StepMigrate    Step = "migrate"    // rows of an older schema are rewritten
	StepUpgrade    Step = "upgrade"    // a file of an older schema takes the new one
	StepCommit     Step = "commit"     // appends, answers and tombstones are synced
	StepCompact    Step = "compact"    // the compacted file takes the name
)

// Hook observes the durable steps. An error from it stands for a failure of the
// step itself (a full disk, say).
type Hook func(step Step, after bool) error

func (h Hook) before(s Step) error {
	if h == nil {
		return nil
	}
	return h(s, false)
}

func (h Hook) after(s Step) {
	if h != nil {
		_ = h(s, true) // the step has happened: nothing can undo it
	}
}
