package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// fleetRow is the row of trade_cabinet that holds the whole fleet's token. No
// cabinet can have this name.
const fleetRow = "*"

func generation(cabinet, fleet string) string { return cabinet + "." + fleet }

// Rebuild draws a new generation for a cabinet and loads Redis under it.
//
// The row's exclusive lock keeps placements and effects from counting until the
// end. The snapshot is opened after the lock, never before: what committed while
// we waited for it must be seen. The token is committed only when the load has
// succeeded; see fence.Fence.Rebuild for a death in between.
func (l *Ledger) Rebuild(ctx context.Context, cabinet string,
	current func(ctx context.Context, generation string) (bool, error),
	load func(ctx context.Context, s fence.Snapshot) error) error {
	return l.once(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		own, fleet, err := l.lockCabinet(ctx, tx, cabinet)
		if err != nil {
			return err
		}
		if strings.HasPrefix(fleet, directMark) {
			return &order.Refusal{Code: wire.CodeFenced, Detail: "a service in synchronous mode owns the stock"}
		}
		if ok, err := current(ctx, generation(own, fleet)); err != nil || ok {
			return err
		}
		token := l.opt.Token()
		s, err := l.snapshot(ctx, tx, cabinet)
		if err != nil {
			return fmt.Errorf("read snapshot: %w", err)
		}
		s.Generation = generation(token, fleet)
		if err := load(ctx, s); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", token, cabinet)
		return err
	})
}

// lockCabinet takes the cabinet's row exclusively and the fleet's shared. The
// fleet's row comes first, as in generations, so that the two cannot deadlock.
func (l *Ledger) lockCabinet(ctx context.Context, tx *sql.Tx, cabinet string) (own, fleet string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?"+l.dialect.forShare, fleetRow).Scan(&fleet)
	if err != nil {
		return "", "", fmt.Errorf("read the fleet's generation: %w", err)
	}
	err = tx.QueryRowContext(ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?"+l.dialect.forUpdate, cabinet).Scan(&own)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
	}
	if err != nil {
		return "", "", fmt.Errorf("lock the cabinet: %w", err)
	}
	return own, fleet, nil
}

// Draw makes generation stale if it is the cabinet's current one. Drawing for a
// generation that is already stale does nothing, so many may call it at once.
func (l *Ledger) Draw(ctx context.Context, cabinet, gen string) error {
	own, _, _ := strings.Cut(gen, ".")
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ? AND generation = ?", l.opt.Token(), cabinet, own)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return l.noteIncident(ctx, tx, fence.Incident{Reason: fence.Doubted, Cabinet: cabinet, Cabinets: 1}, l.now())
	})
	if err != nil {
		return fmt.Errorf("ledger: draw the fence of %s: %w", cabinet, err)
	}
	return nil
}

// DrawFleet makes every cabinet's generation stale: Redis as a whole is in doubt.
func (l *Ledger) DrawFleet(ctx context.Context) error {
	if err := l.setFleet(ctx, l.opt.Token()); err != nil {
		return fmt.Errorf("ledger: draw the fleet's fence: %w", err)
	}
	return nil
}

func (l *Ledger) setFleet(ctx context.Context, token string) error {
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", token, fleetRow)
		return err
	})
}
