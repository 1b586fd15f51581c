-- +goose Up
CREATE TABLE trade_fact (
  fact_id TEXT NOT NULL PRIMARY KEY,
  cabinet_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  epoch TEXT NOT NULL,
  seq BIGINT NOT NULL,
  cause VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX trade_fact_by_cabinet ON trade_fact (cabinet_id, created_at);

-- +goose Down
DROP TABLE trade_fact;
