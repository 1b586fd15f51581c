package ledger

import (
	"context"
	"fmt"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// SetGroup puts a cabinet into a group, out of the one it was in; an empty group
// is none.
func (l *Ledger) SetGroup(ctx context.Context, cabinet, group string) error {
	there, err := l.hasCabinet(ctx, cabinet)
	if err == nil && (!there || cabinet == fleetRow) {
		return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no such cabinet"}
	}
	if err == nil {
		_, err = l.db.ExecContext(ctx, "UPDATE trade_cabinet SET grp = ? WHERE cabinet_id = ?", group, cabinet)
	}
	if err != nil {
		return fmt.Errorf("ledger: set the group of %s: %w", cabinet, err)
	}
	return nil
}

// GroupCabinets lists the cabinets of a group in order; there may be none.
func (l *Ledger) GroupCabinets(ctx context.Context, group string) ([]string, error) {
	ids, err := texts(ctx, l.read, "SELECT cabinet_id FROM trade_cabinet WHERE grp = ? AND cabinet_id <> ? ORDER BY cabinet_id", group, fleetRow)
	if err != nil {
		return nil, fmt.Errorf("ledger: list group %s: %w", group, err)
	}
	return ids, nil
}
