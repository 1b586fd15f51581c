-- +goose Up
-- Orders that were taken in without an answer, to be placed afterwards.
CREATE TABLE trade_intent (
  order_sn TEXT NOT NULL PRIMARY KEY,
  status VARCHAR(8) NOT NULL,
  code VARCHAR(32) NOT NULL,
  detail VARCHAR(255) NOT NULL,
  callback_url VARCHAR(1024) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  patience_until BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX trade_intent_by_status ON trade_intent (status, patience_until);

-- +goose Down
DROP TABLE trade_intent;
