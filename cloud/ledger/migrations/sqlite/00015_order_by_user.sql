-- +goose Up
-- Finds a shopper's unpaid holds.
CREATE INDEX trade_order_by_user ON trade_order (user_id, hold_until) WHERE hold_until IS NOT NULL;

-- +goose Down
DROP INDEX trade_order_by_user;
