-- +goose Up
-- Every callback that was a provider's, once; body is a payment.Notice.
CREATE TABLE payment_notice (
  provider VARCHAR(16) NOT NULL,
  notice_id VARCHAR(64) NOT NULL,
  trade_no VARCHAR(32) NOT NULL,
  body MEDIUMBLOB NOT NULL,
  outcome VARCHAR(24) NOT NULL,
  received_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  PRIMARY KEY (provider, notice_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE payment_notice;
