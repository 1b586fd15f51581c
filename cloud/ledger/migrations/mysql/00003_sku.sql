-- +goose Up
CREATE TABLE trade_sku (
  sku_id VARCHAR(64) NOT NULL PRIMARY KEY,
  name VARCHAR(128) CHARACTER SET utf8mb4 NOT NULL,
  price BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  user_limit INT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_sku;
