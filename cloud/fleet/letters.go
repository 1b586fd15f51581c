package fleet

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

//go:embed page/letters.html
var lettersHTML string

//go:embed page/letters.js
var lettersJS string

// Letters is what operators do with dead letters, and with rows that are stuck.
type Letters interface {
	// FindLetters returns a page of letters, the last buried first; CountFound how
	// many a filter finds on all its pages.
	FindLetters(ctx context.Context, f letter.Filter) (letter.Page, error)
	CountFound(ctx context.Context, f letter.Filter) (int64, error)
	// Letter returns one letter and what was done with it, oldest first.
	Letter(ctx context.Context, id string) (letter.Letter, []letter.Event, error)
	// Redrive sends a letter back the way it came, durably and once; Discard gives
	// it up. dry changes nothing.
	Redrive(ctx context.Context, who, id string, dry bool) (letter.Outcome, error)
	Discard(ctx context.Context, who, note, id string, dry bool) (letter.Outcome, error)
	// StuckRows returns outbox rows that were claimed again and again.
	StuckRows(ctx context.Context, n int) ([]outbox.Waiting, error)
}

// Bounds of what is done with letters in one request.
const (
	mostLetters = 500
	letterTime  = 20 * time.Second // after which a request that does many ends, and says what is left
	wholeLetter = 1 << 20          // bytes of one letter that are shown
)

type letterView struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	State      string            `json:"state"`
	Cabinet    string            `json:"cabinet,omitempty"`
	Subject    string            `json:"subject,omitempty"`
	Reason     string            `json:"reason"`
	FirstError string            `json:"first_error"`
	LastError  string            `json:"last_error"`
	Attempts   int               `json:"attempts"`
	Created    int64             `json:"created"` // Unix ms
	Buried     int64             `json:"buried"`
	Meta       map[string]string `json:"meta"`
	Bytes      int               `json:"bytes"`            // of the whole payload
	Text       *string           `json:"text,omitempty"`   // its beginning, if it is text
	Base64     []byte            `json:"base64,omitempty"` // … if it is not
}

func letterOf(l letter.Letter, most int) letterView {
	v := letterView{ID: l.ID, Source: l.Source, State: string(l.State), Cabinet: l.Cabinet, Subject: l.Subject,
		Reason: l.Reason, FirstError: l.FirstError, LastError: l.LastError, Attempts: l.Attempts, Meta: l.Meta,
		Created: l.CreatedAt.UnixMilli(), Buried: l.BuriedAt.UnixMilli(), Bytes: len(l.Payload)}
	v.Text, v.Base64 = shown(l.Payload, most)
	return v
}

// shown is a payload's beginning: as text, if it is text.
func shown(payload []byte, most int) (text *string, raw []byte) {
	head := payload[:min(len(payload), most)]
	if !utf8.Valid(payload) {
		return nil, head
	}
	for len(head) > 0 && !utf8.Valid(head) {
		head = head[:len(head)-1] // not through the middle of a character
	}
	return ref(string(head)), nil
}

// readLetters answers GET /v1/fleet/dead-letters?state=&source=&cabinet=&q=&after=&limit=100:
// open ones unless told otherwise, the last buried first. next, when there is one,
// is the next page's after.
func (f *Fleet) readLetters(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := limitOf(r)
	filter := letter.Filter{State: letter.State(q.Get("state")), Source: q.Get("source"), Cabinet: q.Get("cabinet"), Text: q.Get("q"), After: q.Get("after"), Limit: limit}
	if err == nil {
		err = checkFilter(filter)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	total, err := f.opt.Ledger.CountFound(r.Context(), filter)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	page, err := f.opt.Ledger.FindLetters(r.Context(), filter)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	views := make([]letterView, len(page.Letters))
	for i, l := range page.Letters {
		views[i] = letterOf(l, mostPayload)
	}
	out := map[string]any{"at": f.opt.Clock().UnixMilli(), "total": total, "dead_letters": views}
	if page.Next != "" {
		out["next"] = page.Next
	}
	f.write(w, out)
}

func checkFilter(f letter.Filter) error {
	switch {
	case f.State != "" && !slices.Contains([]letter.State{letter.Open, letter.Redriven, letter.Discarded, letter.All}, f.State):
		return &wire.FieldError{Path: "state", Problem: "must be open, redriven, discarded or all"}
	case f.Source != "" && !slices.Contains(letter.Sources[:], f.Source):
		return &wire.FieldError{Path: "source", Problem: "is none that letters come from"}
	case f.Cabinet != "" && !wire.ValidCabinet(f.Cabinet):
		return &wire.FieldError{Path: "cabinet", Problem: "must be 1 to 32 letters, digits, '_' or '-'"}
	case len(f.Text) > 200 || !utf8.ValidString(f.Text):
		return &wire.FieldError{Path: "q", Problem: "must be text of at most 200 bytes"}
	case f.After != "" && !cursor(f.After):
		return &wire.FieldError{Path: "after", Problem: "must be the next of the page before"}
	}
	return nil
}

// cursor reports whether s may be a page's next: an instant, a dot, an id.
func cursor(s string) bool {
	at, id, ok := cutDot(s)
	_, err := strconv.ParseInt(at, 10, 64)
	return ok && err == nil && wire.ValidID(id)
}

func cutDot(s string) (string, string, bool) {
	for i := range len(s) {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

type letterEvent struct {
	At   int64  `json:"at"` // Unix ms
	Who  string `json:"who"`
	What string `json:"what"`
	Note string `json:"note"`
}

// readLetter answers GET /v1/fleet/dead-letters/{id}: all of it.
func (f *Fleet) readLetter(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !wire.ValidID(id) {
		f.host.Refuse(w, r, errNoLetter)
		return
	}
	l, past, err := f.opt.Ledger.Letter(r.Context(), id)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	events := make([]letterEvent, len(past))
	for i, e := range past {
		events[i] = letterEvent{e.At.UnixMilli(), e.Who, e.What, e.Note}
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "dead_letter": letterOf(l, wholeLetter), "history": events})
}

var errNoLetter = &order.Refusal{Code: wire.CodeNotFound, Detail: "no dead letter has this id"}

// lettersBody says which letters: some by id, or all that a filter finds.
type lettersBody struct {
	IDs     []string `json:"ids"`
	All     bool     `json:"all"`
	Source  string   `json:"source"`
	Cabinet string   `json:"cabinet"`
	Text    string   `json:"q"`
	After   string   `json:"after"`
	DryRun  bool     `json:"dry_run"`
	Who     string   `json:"who"`
	Note    string   `json:"note"`
}

type outcomeView struct {
	ID     string `json:"id"`
	Source string `json:"source,omitempty"`
	Done   bool   `json:"done"`
	Action string `json:"action,omitempty"`
	Refuse string `json:"refused,omitempty"` // why it was not done
}

type outcomesView struct {
	At       int64         `json:"at"`
	DryRun   bool          `json:"dry_run"`
	Done     int           `json:"done"` // or could be, in a dry run
	Refused  int           `json:"refused"`
	Outcomes []outcomeView `json:"outcomes"`
	Next     string        `json:"next,omitempty"` // after of the request that goes on; empty: that was all
}

// redrive answers POST /v1/fleet/dead-letters/redrive.
func (f *Fleet) redrive(w http.ResponseWriter, r *http.Request) {
	f.handle(w, r, false, func(ctx context.Context, b lettersBody, id string) (letter.Outcome, error) {
		return f.opt.Ledger.Redrive(ctx, b.Who, id, b.DryRun)
	})
}

// discard answers POST /v1/fleet/dead-letters/discard.
func (f *Fleet) discard(w http.ResponseWriter, r *http.Request) {
	f.handle(w, r, true, func(ctx context.Context, b lettersBody, id string) (letter.Outcome, error) {
		return f.opt.Ledger.Discard(ctx, b.Who, b.Note, id, b.DryRun)
	})
}

// handle does something with letters, each in its own transaction: what fails or
// is refused holds up none of the others.
func (f *Fleet) handle(w http.ResponseWriter, r *http.Request, noted bool, do func(context.Context, lettersBody, string) (letter.Outcome, error)) {
	var b lettersBody
	err := f.host.ReadJSON(w, r, &b)
	if err == nil {
		err = b.check(noted)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(letterTime + writeLimit))
	ctx, cancel := context.WithTimeout(r.Context(), letterTime)
	defer cancel()
	v := outcomesView{DryRun: b.DryRun, Outcomes: []outcomeView{}}
	ids := b.IDs
	if b.All {
		page, err := f.opt.Ledger.FindLetters(ctx, letter.Filter{Source: b.Source, Cabinet: b.Cabinet, Text: b.Text, After: b.After, Limit: mostLetters})
		if err != nil {
			f.host.Refuse(w, r, err)
			return
		}
		v.Next = page.Next
		for _, l := range page.Letters {
			ids = append(ids, l.ID)
		}
	}
	for _, id := range ids {
		o, err := do(ctx, b, id)
		var no *order.Refusal
		switch {
		case errors.As(err, &no) && no.Code == wire.CodeNotFound:
			o = letter.Outcome{ID: id, Refuse: no.Detail}
		case err != nil && len(v.Outcomes) == 0:
			f.host.Refuse(w, r, err)
			return
		case err != nil:
			f.opt.Log.Warn("a dead letter cannot be handled", "letter", id, "error", err)
			o = letter.Outcome{ID: id, Refuse: "the ledger does not answer; it is as it was, or done: look again"}
		}
		if o.Refuse != "" {
			v.Refused++
		} else {
			v.Done++
		}
		v.Outcomes = append(v.Outcomes, outcomeView{o.ID, o.Source, o.Done, o.Action, o.Refuse})
	}
	v.At = f.opt.Clock().UnixMilli()
	f.write(w, v)
}

func (b *lettersBody) check(noted bool) error {
	if b.Who == "" {
		b.Who = "operator"
	}
	switch {
	case b.All == (len(b.IDs) > 0):
		return &wire.FieldError{Path: "ids", Problem: "must name letters, or all must be true"}
	case !b.All && (b.Source != "" || b.Cabinet != "" || b.Text != "" || b.After != ""):
		return &wire.FieldError{Path: "all", Problem: "must be true where a filter is given"}
	case len(b.IDs) > mostLetters:
		return &wire.FieldError{Path: "ids", Problem: "must name at most " + strconv.Itoa(mostLetters) + " letters"}
	case utf8.RuneCountInString(b.Who) > 64:
		return &wire.FieldError{Path: "who", Problem: "must have at most 64 characters"}
	case noted && (blank(b.Note) || utf8.RuneCountInString(b.Note) > mostNote):
		return &wire.FieldError{Path: "note", Problem: "must say in 1 to 200 characters why"}
	case !noted && b.Note != "":
		return &wire.FieldError{Path: "note", Problem: "belongs to a discard"}
	}
	for i, id := range b.IDs {
		if !wire.ValidID(id) {
			return &wire.FieldError{Path: "ids[" + strconv.Itoa(i) + "]", Problem: "is no id"}
		}
	}
	slices.Sort(b.IDs)
	b.IDs = slices.Compact(b.IDs)
	return checkFilter(letter.Filter{Source: b.Source, Cabinet: b.Cabinet, Text: b.Text, After: b.After})
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\t' && r != '\n' {
			return false
		}
	}
	return true
}
