-- +goose Up
-- Money that is to go back: of one line, or with an empty sku_id of a whole payment. The unique key is why no line is refunded twice.
CREATE TABLE trade_refund (
  refund_id TEXT NOT NULL,
  payment_id TEXT NOT NULL,
  order_sn TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  status VARCHAR(12) NOT NULL,
  reason VARCHAR(64) NOT NULL,
  attempts INT NOT NULL,
  last_error VARCHAR(255) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (refund_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX trade_refund_by_line ON trade_refund (payment_id, sku_id);
CREATE INDEX trade_refund_by_order ON trade_refund (order_sn);

-- +goose Down
DROP TABLE trade_refund;
