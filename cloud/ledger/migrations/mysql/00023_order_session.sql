-- +goose Up
-- When somebody last waited for an order: whether its shopper is still there.
CREATE TABLE order_session (
  order_sn VARCHAR(36) NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE order_session;
