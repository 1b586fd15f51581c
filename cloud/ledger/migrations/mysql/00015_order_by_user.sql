-- +goose Up
-- Finds a shopper's unpaid holds.
CREATE INDEX by_user ON trade_order (user_id, hold_until);

-- +goose Down
DROP INDEX by_user ON trade_order;
