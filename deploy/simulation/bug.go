package simulation

import (
	"fmt"
	"strings"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/lua"
)

// Bug is a rule left out of the real code, from outside of it.
type Bug string

// Bugs. The first ten are those of cloud/model, planted in the real code; but
// that it is the deduct that is not counted.
const (
	RetryTakesTwice       Bug = "a retry that overtakes its rollback takes again"
	RollbackWithoutMarker Bug = "a release adds units whatever the marker says"
	AdjustTwice           Bug = "a fact's effect is added again"
	DeductUncounted       Bug = "a deduct does not raise the mutation counter"
	NoGeneration          Bug = "an effect under a stale generation counts"
	NoTicket              Bug = "a ticket drawn twice counts"
	FallbackKeepsToken    Bug = "an order placed without Redis keeps the generation"
	CommandMerge          Bug = "statements are added up as commands"
	RebuildForgetsPending Bug = "a rebuild forgets which facts it has counted"
	AckBeforeCommit       Bug = "the queue's ack comes before the commit, and rows go when they are sent"
	RowGoesWhenSent       Bug = "a cabinet's row goes when it is sent"
	CaseWithoutElse       Bug = "the CASE of a stock update has no ELSE"
	CursorByID            Bug = "outbox rows are read by an id cursor"
)

// Bugs lists all of them.
func Bugs() []Bug {
	return []Bug{RetryTakesTwice, RollbackWithoutMarker, AdjustTwice, DeductUncounted, NoGeneration, NoTicket, FallbackKeepsToken,
		CommandMerge, RebuildForgetsPending, AckBeforeCommit, RowGoesWhenSent, CaseWithoutElse, CursorByID}
}

// scripts are what Redis runs; nil is the real ones.
func (b Bug) scripts() *lua.Scripts {
	all := lua.Embedded()
	change := func(s *lua.Script, rule, mistake string) *lua.Scripts {
		if strings.Count(s.Source, rule) != 1 {
			panic(fmt.Sprintf("%s is not what it was; plant %q anew", s.Name, b))
		}
		*s = lua.New(s.Name, strings.Replace(s.Source, rule, mistake, 1))
		return &all
	}
	switch b {
	case RetryTakesTwice:
		return change(&all.Deduct, "if state == 'held' then", "if false then")
	case RollbackWithoutMarker:
		return change(&all.Rollback, "if tonumber(mversion) >= tonumber(version) then return {409, gen, 0, state, mversion} end\n    if state == 'held' then", "if true then")
	case AdjustTwice:
		return change(&all.Adjust, "return {409, gen, tonumber(ticket)}", "")
	case DeductUncounted:
		return change(&all.Deduct, "local mut = int('%d', (have[2] or 0) + 1)", "local mut = have[2]")
	}
	return nil
}

// place lets a placement pass a check that it would fail.
func (b Bug) place(p *cloud, pl *order.Placement) {
	w := p.w
	if b == NoGeneration {
		pl.Run.Generation = w.generation(pl.Order.Cabinet)
	}
	if b == NoTicket || b == NoGeneration {
		w.mu.Lock()
		w.serial++
		pl.Run.Ticket = 1_000_000 + w.serial
		w.mu.Unlock()
	}
}

// generation is a cabinet's current one.
func (w *world) generation(cabinet string) string {
	var own, fleet string
	w.check("read a generation", w.db.QueryRowContext(w.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?", cabinet).Scan(&own))
	w.check("read the fleet's generation", w.db.QueryRowContext(w.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = '*'").Scan(&fleet))
	return own + "." + fleet
}

// keepToken takes back what the fallback draws.
func (b Bug) keepToken(w *world, cabinet string) func() {
	if b != FallbackKeepsToken {
		return func() {}
	}
	own, _, _ := strings.Cut(w.generation(cabinet), ".")
	return func() {
		_, err := w.db.ExecContext(w.ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", own, cabinet)
		w.check("keep a generation", err)
	}
}

func (b Bug) apply(p *cloud, msgs []statement.Message) []statement.Message {
	if b != CommandMerge {
		return msgs
	}
	out := make([]statement.Message, len(msgs))
	for i, m := range msgs {
		out[i] = m
		out[i].Statements = nil
		for _, s := range m.Statements {
			s.ID = p.w.id() // nothing is known of it: its effect is added
			out[i].Statements = append(out[i].Statements, s)
		}
	}
	return out
}

// dialect is the ledger's, over a driver that is watched, and lied to if need be.
func (b Bug) dialect() ledger.Dialect { return ledger.SQLite().Over(driverFor(b)) }
