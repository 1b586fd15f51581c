-- +goose Up
CREATE TABLE trade_order_line (
  order_sn TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  qty INT NOT NULL,
  price BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_order_line;
