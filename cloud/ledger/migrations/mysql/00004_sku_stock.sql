-- +goose Up
CREATE TABLE trade_sku_stock (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  cabinet_id VARCHAR(32) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  total BIGINT NOT NULL CHECK (total >= 0),
  available BIGINT NOT NULL CHECK (available >= 0),
  locked BIGINT NOT NULL CHECK (locked >= 0),
  sold BIGINT NOT NULL CHECK (sold >= 0),
  version BIGINT NOT NULL,
  UNIQUE (cabinet_id, sku_id),
  CHECK (total = available + locked + sold)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_sku_stock;
