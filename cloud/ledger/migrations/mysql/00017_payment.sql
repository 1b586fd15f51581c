-- +goose Up
-- One charge at one provider.
CREATE TABLE trade_payment (
  payment_id VARCHAR(36) NOT NULL,
  order_sn VARCHAR(36) NOT NULL,
  provider VARCHAR(16) NOT NULL,
  trade_no VARCHAR(32) NOT NULL,
  status VARCHAR(12) NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  ref VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (payment_id),
  UNIQUE by_trade (provider, trade_no),
  INDEX by_order (order_sn)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_payment;
