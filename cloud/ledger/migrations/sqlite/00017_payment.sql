-- +goose Up
-- One charge at one provider.
CREATE TABLE trade_payment (
  payment_id TEXT NOT NULL,
  order_sn TEXT NOT NULL,
  provider VARCHAR(16) NOT NULL,
  trade_no VARCHAR(32) NOT NULL,
  status VARCHAR(12) NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  ref VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (payment_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX trade_payment_by_trade ON trade_payment (provider, trade_no);
CREATE INDEX trade_payment_by_order ON trade_payment (order_sn);

-- +goose Down
DROP TABLE trade_payment;
