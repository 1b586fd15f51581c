package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/queue"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// startLetters carries redriven facts out, takes in what the broker gives up,
// and clears away what nobody needs any more.
func (a *App) startLetters(context.Context) error {
	again := &intakeAgain{facts: facts{a.Ledger, a.Ledger}, ledger: a.Ledger}
	s := outbox.ScheduleOf(outbox.KindIntake)
	a.carry(&outbox.Runner{Kind: s.Kind, Carry: again.carry, Lease: s.First, Longest: s.Longest})
	if a.Config.has(RoleTimers) {
		a.start(a.prune)
	}
	from, ok := a.queue.(interface {
		DeadLetters(ctx context.Context, group string, h queue.Handler) (stop func(), err error)
	})
	if !ok || !a.Config.has(RoleConsumer) {
		return nil
	}
	for _, topic := range []string{a.Config.topics().Stock, a.Config.topics().Timer} {
		group := groupOf(topic)
		stop, err := from.DeadLetters(a.ctx, group, givenUp(a.Ledger, group))
		if err != nil {
			return fmt.Errorf("take in the dead letters of %s: %w", group, err)
		}
		a.onClose(stop)
	}
	return nil
}

// givenUp buries what the broker gave up. The message is acknowledged only when
// its letter is durable. Dies in between: it comes again, as the same letter.
func givenUp(l interface {
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}, group string) queue.Handler {
	return func(ctx context.Context, msgs []queue.Message) error {
		for _, m := range msgs {
			meta := map[string]string{"topic": m.Origin, "key": m.Key, "group": group, "attempts": strconv.Itoa(m.Attempt)}
			if s, err := statement.Decode(m.Body); err == nil && len(s.Statements) > 0 {
				meta["cabinet"], meta["id"] = s.Statements[0].Cabinet, s.Statements[0].ID
			}
			reason := fmt.Sprintf("the broker gave it up after %d deliveries to %s", m.Attempt, group)
			if err := l.Bury(ctx, letter.DLQ, reason, m.Body, meta); err != nil {
				return err
			}
		}
		return nil
	}
}

// intakeAgain takes in facts that were dead letters.
type intakeAgain struct {
	facts interface {
		Record(ctx context.Context, cabinet string, e wire.Event) error
	}
	ledger interface {
		Delete(ctx context.Context, ids ...string) error
		Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
	}
}

// carry books each row's fact. Dies after that and before the row is gone: the
// fact's id makes the second time nothing. What is refused is the same letter
// again; a ledger that is away is nobody's fault, and the row stays.
func (i *intakeAgain) carry(ctx context.Context, rows []outbox.Row) error {
	var failed error
	for _, row := range rows {
		if err := i.one(ctx, row); err != nil {
			failed = fmt.Errorf("intake again: row %s: %w", row.ID, err)
		}
	}
	return failed
}

func (i *intakeAgain) one(ctx context.Context, row outbox.Row) error {
	var said outbox.Intake
	var no *order.Refusal
	err := json.Unmarshal(row.Payload, &said)
	cabinet, channel, _ := wire.ParseTopic(said.Topic)
	if err == nil {
		var e wire.Event
		if e, err = wire.DecodeEvent(said.Payload, cabinet, channel); err == nil {
			err = i.facts.Record(ctx, cabinet, e)
			if err != nil && (!errors.As(err, &no) || no.Code.Retryable()) {
				return err
			}
		}
	}
	if err == nil {
		return i.ledger.Delete(ctx, row.ID)
	}
	return i.ledger.Bury(ctx, letter.MQTT, err.Error(), said.Payload, map[string]string{"row": row.ID, "topic": said.Topic, "cabinet": cabinet})
}

// pruneEvery is how often what is old is looked for.
const pruneEvery = time.Minute

// prune clears tickets of generations that are over, a little at a time.
func (a *App) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		if n, err := a.Ledger.PruneTickets(ctx); err != nil && ctx.Err() == nil {
			a.Deps.Log.Warn("old tickets are not pruned; that is tried again", "pruned", n, "error", err)
		} else if n > 0 {
			a.Deps.Log.Debug("old tickets pruned", "tickets", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l fleetLedger) Letter(ctx context.Context, id string) (letter.Letter, []letter.Event, error) {
	d, past, err := l.Ledger.Letter(ctx, id)
	return d, past, noLetter(err)
}

func (l fleetLedger) Redrive(ctx context.Context, who, id string, dry bool) (letter.Outcome, error) {
	o, err := l.Ledger.Redrive(ctx, who, id, dry)
	return o, noLetter(err)
}

func (l fleetLedger) Discard(ctx context.Context, who, note, id string, dry bool) (letter.Outcome, error) {
	o, err := l.Ledger.Discard(ctx, who, note, id, dry)
	return o, noLetter(err)
}

func noLetter(err error) error {
	if errors.Is(err, ledger.ErrNoLetter) {
		return &order.Refusal{Code: wire.CodeNotFound, Detail: "no dead letter has this id"}
	}
	return err
}
