-- +goose Up
-- Money that is to go back: of one line, or with an empty sku_id of a whole payment. The unique key is why no line is refunded twice.
CREATE TABLE trade_refund (
  refund_id VARCHAR(36) NOT NULL,
  payment_id VARCHAR(36) NOT NULL,
  order_sn VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  status VARCHAR(12) NOT NULL,
  reason VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  attempts INT NOT NULL,
  last_error VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (refund_id),
  UNIQUE by_line (payment_id, sku_id),
  INDEX by_order (order_sn)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_refund;
