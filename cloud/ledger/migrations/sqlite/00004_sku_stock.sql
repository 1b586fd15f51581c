-- +goose Up
CREATE TABLE trade_sku_stock (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  cabinet_id TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  total BIGINT NOT NULL CHECK (total >= 0),
  available BIGINT NOT NULL CHECK (available >= 0),
  locked BIGINT NOT NULL CHECK (locked >= 0),
  sold BIGINT NOT NULL CHECK (sold >= 0),
  version BIGINT NOT NULL,
  UNIQUE (cabinet_id, sku_id),
  CHECK (total = available + locked + sold)
);

-- +goose Down
DROP TABLE trade_sku_stock;
