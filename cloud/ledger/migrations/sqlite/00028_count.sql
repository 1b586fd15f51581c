-- +goose Up
-- The latest count of each SKU, by outbox: what happened up to and including event upto is in it.
CREATE TABLE trade_count (
  cabinet_id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  upto BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  units BIGINT NOT NULL,
  fact_id TEXT NOT NULL,
  counted_at BIGINT NOT NULL,
  PRIMARY KEY (cabinet_id, epoch, sku_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_count;
