package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"vendline/cloud/letter"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// stockSource marks dead letters that were statements: the watermark minds those
// that are open.
const stockSource = letter.Stock

// Letter is a message that nobody can process, kept with its reason.
type Letter = letter.Letter

// byService is who an event's author is when it was no person.
const byService = "vend-cloud"

// Bury records a message that no retry can make readable, or that was tried for
// long enough. When it returns nil the letter is durable and the message may be
// acknowledged. If meta names the outbox row it was in, the row goes in the same
// transaction. Dies before the commit: the message comes again. Dies after it and
// before the message is acknowledged: it comes again, and is the same letter.
func (l *Ledger) Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error {
	now := ms(l.now())
	d := Letter{ID: l.opt.ID(), Source: source, Reason: reason, FirstError: meta["first_error"], LastError: reason, Payload: payload, Meta: meta,
		Cabinet: meta["cabinet"], Subject: meta["id"], Attempts: 1, CreatedAt: now, BuriedAt: now}
	if n, err := strconv.Atoi(meta["attempts"]); err == nil && n > 0 {
		d.Attempts = n
	}
	if d.Cabinet != "" {
		d.Shard = l.Shard(d.Cabinet)
	}
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		if err := l.bury(ctx, tx, d); err != nil {
			return err
		}
		if row := meta["row"]; row != "" {
			return deleteMsgs(ctx, tx, row)
		}
		return nil
	})
}

// bury writes a letter, unless it is one that there is: then that one comes back
// with the new attempts added.
func (l *Ledger) bury(ctx context.Context, tx *sql.Tx, d Letter) error {
	d = tidy(d)
	origin := originOf(d)
	prior, err := priorLetter(ctx, tx, l.dialect.forUpdate, origin, d.Meta["row"])
	if err == nil && prior != nil && prior.State == letter.Open && d.Source == stockSource && !bytes.Equal(prior.Payload, d.Payload) {
		// Two different statements of one order and version: no merge keeps both.
		origin = hashOf(origin, string(d.Payload))
		prior, err = priorLetter(ctx, tx, l.dialect.forUpdate, origin, "")
	}
	if err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	if prior != nil {
		return l.bringBack(ctx, tx, *prior, d)
	}
	meta, err := json.Marshal(d.Meta)
	if err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO dead_letter (id, source, shard, reason, payload, meta, attempts, created_at, buried_at, state, cabinet_id, subject, first_error, last_error, origin, row_id)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		d.ID, d.Source, d.Shard, d.Reason, d.Payload, meta, d.Attempts, d.CreatedAt.UnixMilli(), d.BuriedAt.UnixMilli(), string(letter.Open),
		d.Cabinet, d.Subject, d.FirstError, d.LastError, origin, nullable(d.Meta["row"]))
	if duplicate(err) {
		return errBuriedBeside // both of us looked before either wrote
	}
	if err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	l.counters.DeadLetters.Add(1)
	return l.letterEvent(ctx, tx, d.ID, byService, "buried", d.Reason)
}

// errBuriedBeside is transient: the second look finds the letter.
var errBuriedBeside = errors.New("ledger: the same letter was buried at the same moment")

// bringBack reopens a letter that failed again, with the attempts added.
func (l *Ledger) bringBack(ctx context.Context, tx *sql.Tx, prior, d Letter) error {
	payload := prior.Payload
	if payload == nil {
		payload = []byte{}
	}
	if d.Source == stockSource && prior.State != letter.Open {
		payload = d.Payload // some of its lines may be known by now
	}
	_, err := tx.ExecContext(ctx, `UPDATE dead_letter SET state = ?, attempts = attempts + ?, reason = ?, last_error = ?, payload = ?, created_at = ?, buried_at = ?, row_id = ? WHERE id = ?`,
		string(letter.Open), d.Attempts, d.Reason, d.LastError, payload, min(prior.CreatedAt.UnixMilli(), d.CreatedAt.UnixMilli()), d.BuriedAt.UnixMilli(), nullable(d.Meta["row"]), prior.ID)
	if err != nil || prior.State == letter.Open {
		return err // a poison message that comes every minute makes no history
	}
	l.counters.DeadLetters.Add(1)
	return l.letterEvent(ctx, tx, prior.ID, byService, "returned", d.Reason)
}

func priorLetter(ctx context.Context, tx *sql.Tx, lock, origin, row string) (*Letter, error) {
	where, args := "origin = ?", []any{origin}
	if row != "" {
		where, args = "row_id = ?", []any{row}
	}
	found, err := readLetters(ctx, tx, " WHERE "+where+lock, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// originOf names what a letter is made of, so that what comes again is the same
// letter: a statement by order and version, a row by its id, all else by its
// bytes and where they came from.
func originOf(d Letter) string {
	switch {
	case d.Source == stockSource && d.Subject != "":
		return hashOf(d.Source, d.Subject, d.Meta["version"])
	case d.Meta["row"] != "":
		return hashOf(d.Source, d.Meta["row"])
	}
	return hashOf(d.Source, d.Meta["topic"], d.Meta["key"], string(d.Payload))
}

func hashOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// tidy fits a letter into its columns.
func tidy(d Letter) Letter {
	if d.Payload == nil {
		d.Payload = []byte{} // an empty message, not NULL
	}
	if d.FirstError == "" {
		d.FirstError = d.LastError
	}
	d.Reason, d.FirstError, d.LastError = cut(d.Reason, 255), cut(d.FirstError, 1000), cut(d.LastError, 1000)
	if !wire.ValidCabinet(d.Cabinet) {
		d.Cabinet = ""
	}
	if !wire.ValidID(d.Subject) {
		d.Subject = ""
	}
	return d
}

func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func letterOf(l *Ledger, m statement.Message, reason string, created int64) Letter {
	d := Letter{ID: l.opt.ID(), Source: stockSource, Reason: reason, FirstError: m.FirstError, LastError: reason,
		Payload: statement.Message{Statements: m.Statements}.Encode(), Attempts: m.Attempt, CreatedAt: ms(created), BuriedAt: ms(l.now()),
		Meta: map[string]string{"id": idOf(m), "first_error": m.FirstError}}
	if len(m.Statements) > 0 {
		s := m.Statements[0]
		d.Shard, d.Cabinet, d.Subject = l.Shard(s.Cabinet), s.Cabinet, s.ID
		d.Meta["cabinet"], d.Meta["version"] = s.Cabinet, strconv.FormatInt(s.Version, 10)
	}
	return d
}

const selectLetter = "SELECT id, source, shard, cabinet_id, subject, state, reason, first_error, last_error, payload, meta, attempts, created_at, buried_at FROM dead_letter"

func readLetters(ctx context.Context, db querier, rest string, args ...any) ([]Letter, error) {
	rows, err := db.QueryContext(ctx, selectLetter+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	defer rows.Close()
	var out []Letter
	for rows.Next() {
		var d Letter
		var meta []byte
		var created, buried int64
		if err := rows.Scan(&d.ID, &d.Source, &d.Shard, &d.Cabinet, &d.Subject, &d.State, &d.Reason, &d.FirstError, &d.LastError, &d.Payload, &meta, &d.Attempts, &created, &buried); err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		if err := json.Unmarshal(meta, &d.Meta); err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		d.CreatedAt, d.BuriedAt = ms(created), ms(buried)
		out = append(out, d)
	}
	return out, rows.Err()
}

func (l *Ledger) letterEvent(ctx context.Context, tx *sql.Tx, id, who, what, note string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO dead_letter_event (id, letter_id, at, who, what, note) VALUES (?,?,?,?,?,?)",
		l.opt.ID(), id, l.now(), cut(who, 64), what, cut(note, 1000))
	if err != nil {
		return fmt.Errorf("record what was done with a dead letter: %w", err)
	}
	return nil
}

// Letters returns the newest n open dead letters.
func (l *Ledger) Letters(ctx context.Context, n int) ([]Letter, error) {
	p, err := l.FindLetters(ctx, letter.Filter{Limit: n})
	return p.Letters, err
}

// FindLetters returns a page of letters, the last buried first.
func (l *Ledger) FindLetters(ctx context.Context, f letter.Filter) (letter.Page, error) {
	where, args, err := letterWhere(f)
	if err != nil {
		return letter.Page{}, err
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	found, err := readLetters(ctx, l.read, where+" ORDER BY buried_at DESC, id DESC LIMIT "+itoa(f.Limit+1), args...)
	if err != nil {
		return letter.Page{}, fmt.Errorf("ledger: %w", err)
	}
	p := letter.Page{Letters: found}
	if len(found) > f.Limit {
		p.Letters = found[:f.Limit]
		last := p.Letters[f.Limit-1]
		p.Next = fmt.Sprintf("%d.%s", last.BuriedAt.UnixMilli(), last.ID)
	}
	return p, nil
}

// ErrCursor is a page that cannot be found.
var ErrCursor = errors.New("ledger: no such page")

func letterWhere(f letter.Filter) (string, []any, error) {
	var terms []string
	var args []any
	add := func(term string, a ...any) { terms, args = append(terms, term), append(args, a...) }
	if f.State == "" {
		f.State = letter.Open
	}
	if f.State != letter.All {
		add("state = ?", string(f.State))
	}
	if f.Source != "" {
		add("source = ?", f.Source)
	}
	if f.Cabinet != "" {
		add("cabinet_id = ?", f.Cabinet)
	}
	if t := f.Text; t != "" {
		add("(id = ? OR subject = ? OR INSTR(reason, ?) > 0 OR INSTR(first_error, ?) > 0 OR INSTR(last_error, ?) > 0 OR INSTR(payload, ?) > 0 OR INSTR(meta, ?) > 0)",
			ascii(t), ascii(t), t, t, t, []byte(t), []byte(t))
	}
	if f.After != "" {
		at, id, ok := strings.Cut(f.After, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil || !wire.ValidID(id) {
			return "", nil, ErrCursor
		}
		add("(buried_at < ? OR buried_at = ? AND id < ?)", n, n, id)
	}
	if len(terms) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args, nil
}

// ascii is what a column of ASCII can be compared with.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 126 {
			return '?'
		}
		return r
	}, s)
}

// CountLetters returns how many dead letters are open.
func (l *Ledger) CountLetters(ctx context.Context) (n int64, err error) {
	return l.CountFound(ctx, letter.Filter{})
}

// CountFound returns how many letters a filter finds on all its pages.
func (l *Ledger) CountFound(ctx context.Context, f letter.Filter) (n int64, err error) {
	f.After = ""
	where, args, err := letterWhere(f)
	if err != nil {
		return 0, err
	}
	if err := l.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM dead_letter"+where, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("ledger: count dead letters: %w", err)
	}
	return n, nil
}

// ErrNoLetter says that no letter has the id.
var ErrNoLetter = errors.New("ledger: no such dead letter")

// Letter returns one letter and all that was done with it, oldest first.
func (l *Ledger) Letter(ctx context.Context, id string) (Letter, []letter.Event, error) {
	found, err := readLetters(ctx, l.read, " WHERE id = ?", ascii(id))
	if err == nil && len(found) == 0 {
		err = ErrNoLetter
	}
	if err != nil {
		return Letter{}, nil, err
	}
	rows, err := l.read.QueryContext(ctx, "SELECT at, who, what, note FROM dead_letter_event WHERE letter_id = ? ORDER BY at, id", id)
	if err != nil {
		return Letter{}, nil, fmt.Errorf("ledger: read a dead letter's history: %w", err)
	}
	defer rows.Close()
	var past []letter.Event
	for rows.Next() {
		var e letter.Event
		var at int64
		if err := rows.Scan(&at, &e.Who, &e.What, &e.Note); err != nil {
			return Letter{}, nil, fmt.Errorf("ledger: read a dead letter's history: %w", err)
		}
		e.At = ms(at)
		past = append(past, e)
	}
	return found[0], past, rows.Err()
}
