-- +goose Up
CREATE TABLE trade_order_line (
  order_sn VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  qty INT NOT NULL,
  price BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_order_line;
