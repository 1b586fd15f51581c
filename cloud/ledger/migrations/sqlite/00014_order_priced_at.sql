-- +goose Up
-- The planogram version that an order was priced under; 0 is none.
ALTER TABLE trade_order ADD COLUMN priced_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE trade_order DROP COLUMN priced_at;
