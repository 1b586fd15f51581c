package app

import (
	"context"
	"errors"

	"vendline/cloud/ledger"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

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
