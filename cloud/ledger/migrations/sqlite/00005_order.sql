-- +goose Up
CREATE TABLE trade_order (
  order_sn TEXT NOT NULL PRIMARY KEY,
  cabinet_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'PRE_RESERVED',
  version BIGINT NOT NULL DEFAULT 1,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  orphan SMALLINT NOT NULL DEFAULT 0,
  cause VARCHAR(64) NOT NULL DEFAULT 'placed',
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  hold_until BIGINT NULL
);
CREATE INDEX trade_order_by_cabinet ON trade_order (cabinet_id, changed_at);
CREATE INDEX trade_order_by_hold ON trade_order (hold_until) WHERE hold_until IS NOT NULL;

-- +goose Down
DROP TABLE trade_order;
