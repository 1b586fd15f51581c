-- +goose Up
CREATE TABLE trade_sku (
  sku_id TEXT NOT NULL PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  price BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  user_limit INT NOT NULL
);

-- +goose Down
DROP TABLE trade_sku;
