-- +goose Up
-- What happened lately, by kind: alerts ask every few seconds.
CREATE INDEX trade_fact_by_kind ON trade_fact (kind, created_at);

-- +goose Down
DROP INDEX trade_fact_by_kind;
