-- +goose Up
-- seq numbers all planograms of the fleet in the order of their commits; msg_id is the outbox row that tells the cabinet.
ALTER TABLE trade_planogram ADD COLUMN seq BIGINT NULL;
ALTER TABLE trade_planogram ADD COLUMN msg_id VARCHAR(36) NOT NULL DEFAULT '';
CREATE UNIQUE INDEX trade_planogram_by_seq ON trade_planogram (seq);

-- +goose Down
DROP INDEX trade_planogram_by_seq;
ALTER TABLE trade_planogram DROP COLUMN msg_id;
ALTER TABLE trade_planogram DROP COLUMN seq;
