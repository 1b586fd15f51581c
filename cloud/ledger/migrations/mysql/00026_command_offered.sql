-- +goose Up
-- When a cabinet was first told of a command; 0 is never, and then it can still be taken back.
ALTER TABLE trade_command ADD COLUMN offered_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE trade_command DROP COLUMN offered_at;
