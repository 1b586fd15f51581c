-- +goose Up
-- Orders that were taken in without an answer, to be placed afterwards.
CREATE TABLE trade_intent (
  order_sn VARCHAR(36) NOT NULL PRIMARY KEY,
  status VARCHAR(8) NOT NULL,
  code VARCHAR(32) NOT NULL,
  detail VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  callback_url VARCHAR(1024) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  patience_until BIGINT NOT NULL,
  INDEX by_status (status, patience_until)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_intent;
