// Package letter is what dead letters are: messages that nobody could process,
// kept with all that is known of them until somebody redrives or discards them.
// None is ever deleted, and whatever is done with one is an Event.
package letter

import "time"

// State is where a letter stands.
type State string

// States.
const (
	Open      State = "open"      // waits for somebody
	Redriven  State = "redriven"  // sent back the way it came; it is open again if it fails again
	Discarded State = "discarded" // given up, with a note
)

// Sources, as a letter names where it comes from.
const (
	Stock     = "stock"     // a statement that step 8 could not apply
	Queue     = "queue"     // a message of the stock topic that is not one
	DLQ       = "%DLQ%"     // what the broker itself gave up
	MQTT      = "mqtt"      // what a cabinet sent
	Callback  = "callback"  // an outcome that its receiver never took
	Effect    = "effect"    // an outbox row for Redis
	Command   = "command"   // … for a cabinet
	Replace   = "replace"   // … naming holds
	Planogram = "planogram" // … naming a planogram
	Intent    = "intent"    // … naming orders to place
	Alert     = "alert"     // … a notification that its sink never took
)

// Sources lists all of them.
var Sources = [...]string{Stock, Queue, DLQ, MQTT, Callback, Effect, Command, Replace, Planogram, Intent, Alert}

// Letter is a message that nobody could process.
type Letter struct {
	ID         string
	Source     string
	Shard      int
	Cabinet    string // empty: none, or not known
	Subject    string // the order, fact or event it is about, if it is known
	State      State
	Reason     string // why it was buried last
	FirstError string
	LastError  string
	Payload    []byte
	Meta       map[string]string
	Attempts   int       // all of them, over all redrives
	CreatedAt  time.Time // when the message came about
	BuriedAt   time.Time // when it was buried last
}

// Event is something that was done with a letter.
type Event struct {
	At   time.Time
	Who  string
	What string // buried, redriven, returned, discarded
	Note string
}

// Filter says which letters. What is empty is any, but for State: empty is open.
type Filter struct {
	State   State // All is any
	Source  string
	Cabinet string
	Text    string // id or subject as a whole, or a part of reason, errors or payload
	After   string // where the last page ended
	Limit   int    // 0 means 100
}

// All is any state.
const All State = "all"

// Page is some letters, newest first.
type Page struct {
	Letters []Letter
	Next    string // After of the next page; empty: there is none
}

// Outcome is what became of one letter, or would.
type Outcome struct {
	ID     string
	Source string
	Done   bool   // false in a dry run: it could be done
	Refuse string // why it cannot be done; empty: it can
	Action string // what is done, in words
}
