-- +goose Up
-- What became of each line at the cabinet: units that dropped, and the state.
ALTER TABLE trade_order_line ADD COLUMN state VARCHAR(12) NOT NULL DEFAULT 'pending', ADD COLUMN dropped INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE trade_order_line DROP COLUMN state, DROP COLUMN dropped;
