-- +goose Up
CREATE TABLE trade_stock_deduct_log (
  order_sn VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  qty INT NOT NULL,
  status VARCHAR(16) NOT NULL,
  version BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_stock_deduct_log;
