-- +goose Up
-- When somebody last waited for an order: whether its shopper is still there.
CREATE TABLE order_session (
  order_sn TEXT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE order_session;
