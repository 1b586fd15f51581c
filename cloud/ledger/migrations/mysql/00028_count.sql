-- +goose Up
-- The latest count of each SKU, by outbox: what happened up to and including event upto is in it.
CREATE TABLE trade_count (
  cabinet_id VARCHAR(32) NOT NULL,
  epoch VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  upto BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  units BIGINT NOT NULL,
  fact_id VARCHAR(36) NOT NULL,
  counted_at BIGINT NOT NULL,
  PRIMARY KEY (cabinet_id, epoch, sku_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_count;
