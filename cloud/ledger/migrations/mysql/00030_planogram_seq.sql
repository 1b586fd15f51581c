-- +goose Up
-- seq numbers all planograms of the fleet in the order of their commits; msg_id is the outbox row that tells the cabinet.
ALTER TABLE trade_planogram ADD COLUMN seq BIGINT NULL, ADD COLUMN msg_id VARCHAR(36) NOT NULL DEFAULT '', ADD UNIQUE INDEX by_seq (seq);

-- +goose Down
ALTER TABLE trade_planogram DROP INDEX by_seq, DROP COLUMN msg_id, DROP COLUMN seq;
