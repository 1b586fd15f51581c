-- +goose Up
-- 1: the order has a row in trade_intent.
ALTER TABLE trade_order ADD COLUMN intent SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE trade_order DROP COLUMN intent;
