-- +goose Up
CREATE TABLE trade_order (
  order_sn VARCHAR(36) NOT NULL PRIMARY KEY,
  cabinet_id VARCHAR(32) NOT NULL,
  user_id VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL DEFAULT 'PRE_RESERVED',
  version BIGINT NOT NULL DEFAULT 1,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  orphan SMALLINT NOT NULL DEFAULT 0,
  cause VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'placed',
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  hold_until BIGINT NULL,
  INDEX by_cabinet (cabinet_id, changed_at),
  INDEX by_hold (hold_until)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_order;
