-- +goose Up
-- All that a cabinet said, for facts that are more than lines: a wire.Fact. Facts are found by their place in the outbox.
ALTER TABLE trade_fact ADD COLUMN body MEDIUMBLOB NULL, ADD INDEX by_seq (cabinet_id, epoch, seq);

-- +goose Down
ALTER TABLE trade_fact DROP INDEX by_seq, DROP COLUMN body;
