package dispense

import (
	"cmp"
	"context"
	"slices"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
)

// Command is a command as the firmware sees it.
type Command struct {
	ID        string `json:"id"`
	Order     string `json:"order"`
	State     State  `json:"state"`
	Lines     []Line `json:"lines"`
	ExpiresIn int64  `json:"expires_in,omitempty"` // ms in which the motors must have started, if it is known
	Event     string `json:"event,omitempty"`      // id of the last report to the cloud
}

func (r record) command(id string) Command {
	return Command{ID: id, Order: r.Order, State: r.State, Lines: r.Lines, Event: r.event(id)}
}

// Next hands out the oldest command that is ready and not over; ok is false if
// there is none. What it returns, it never returns again.
//
// Promised by the handing step: a command is dispensing on the disk before
// anybody hears of it. Dying right before leaves it ready and unheard of. Dying
// right after leaves it dispensing though no motor ever turned: it is reported
// unknown, unless the firmware, whose motor log says that nothing was started,
// reports so. A sale may be refunded by that; nothing is vended twice.
func (j *Journal) Next(ctx context.Context) (c Command, ok bool, err error) {
	for {
		if !j.mayHand() {
			return c, false, nil
		}
		if err := ctx.Err(); err != nil { // nobody is listening any more
			return c, false, err
		}
		var until time.Duration
		err = j.box.Write(context.WithoutCancel(ctx), StepHand, func(tx *outbox.Tx) (err error) {
			c, until, err = j.hand(tx)
			return err
		})
		if err != nil || c.ID == "" {
			return Command{}, false, err
		}
		if left := until - j.opt.Mono(); left > 0 {
			c.ExpiresIn = max(left.Milliseconds(), 1)
			return c, true, nil
		}
		// It ran out while the disk was busy, and nobody has heard of it.
		if err := j.end(ctx, []string{c.ID}, j.withhold); err != nil {
			return Command{}, false, err
		}
		c = Command{}
	}
}

func (j *Journal) mayHand() bool { return len(j.candidates()) > 0 }

// candidate is a command that may be handed out, as far as memory knows.
type candidate struct {
	id     string
	number int64
	until  time.Duration
}

// candidates are the commands that are ready and not over, oldest first.
func (j *Journal) candidates() (list []candidate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.opt.Mono()
	for id, s := range j.open {
		if s.state == Ready && s.asked > 0 && now < s.until {
			list = append(list, candidate{id, s.number, s.until})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.number, b.number) })
	return list
}

// hand makes the first candidate dispensing that the file calls ready. Memory
// follows with the commit, so one that another caller of the same commit has
// taken is still a candidate here: only the file decides.
func (j *Journal) hand(tx *outbox.Tx) (Command, time.Duration, error) {
	for _, c := range j.candidates() {
		r, known, err := get(tx.Books, c.id)
		if err != nil || !known {
			j.opt.Log.Error("a command can not be read any more; it is never handed out", "id", c.id, "err", err)
			tx.OnCommit(func() { j.closed(c.id) })
			continue
		}
		if r.State != Ready {
			continue
		}
		// Room was reserved when it came, but others may have filled the disk since.
		if !tx.Room(outbox.ShareOwn, r.room()) {
			return Command{}, 0, outbox.ErrFull
		}
		r.State = Dispensing
		tx.OnCommit(func() { j.handed(c.id) })
		return r.command(c.id), c.until, put(tx, c.id, r)
	}
	return Command{}, 0, nil
}

func (j *Journal) handed(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.open[id]; s != nil {
		s.state, s.due = Dispensing, j.opt.Mono()+j.opt.Timing.Result
	}
	j.changed()
}

// Dispensing lists what was handed out and has no result for every line, oldest
// first. It hands out nothing.
func (j *Journal) Dispensing() (list []Command, err error) {
	var handed []candidate
	j.mu.Lock()
	for id, s := range j.open {
		if s.state == Dispensing {
			handed = append(handed, candidate{id: id, number: s.number})
		}
	}
	j.mu.Unlock()
	slices.SortFunc(handed, func(a, b candidate) int { return cmp.Compare(a.number, b.number) })
	list = []Command{}
	for _, n := range handed {
		c, err := j.Get(n.id)
		if err != nil {
			return nil, err
		}
		if c.State == Dispensing {
			list = append(list, c)
		}
	}
	return list, nil
}

// Get shows a command. It hands out nothing.
func (j *Journal) Get(id string) (c Command, err error) {
	if _, ok := ident.Parse(id); !ok {
		return c, ErrUnknown
	}
	err = j.box.Read(func(b outbox.Books) error {
		r, known, err := get(b, id)
		if err == nil && !known {
			err = ErrUnknown
		}
		c = r.command(id)
		return err
	})
	if err != nil {
		return Command{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.open[id]; s != nil && c.State == Ready && s.asked > 0 {
		c.ExpiresIn = max((s.until - j.opt.Mono()).Milliseconds(), 0)
	}
	return c, nil
}
