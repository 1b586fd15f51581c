-- +goose Up
CREATE TABLE trade_stock_deduct_log (
  order_sn TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  cabinet_id TEXT NOT NULL,
  qty INT NOT NULL,
  status TEXT NOT NULL,
  version BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_stock_deduct_log;
