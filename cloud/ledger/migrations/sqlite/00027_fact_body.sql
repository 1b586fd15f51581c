-- +goose Up
-- All that a cabinet said, for facts that are more than lines: a wire.Fact. Facts are found by their place in the outbox.
ALTER TABLE trade_fact ADD COLUMN body BLOB NULL;
CREATE INDEX trade_fact_by_seq ON trade_fact (cabinet_id, epoch, seq);

-- +goose Down
DROP INDEX trade_fact_by_seq;
ALTER TABLE trade_fact DROP COLUMN body;
