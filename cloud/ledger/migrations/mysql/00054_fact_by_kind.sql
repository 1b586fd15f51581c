-- +goose Up
-- What happened lately, by kind: alerts ask every few seconds.
ALTER TABLE trade_fact ADD INDEX by_kind (kind, created_at);

-- +goose Down
ALTER TABLE trade_fact DROP INDEX by_kind;
