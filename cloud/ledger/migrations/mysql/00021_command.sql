-- +goose Up
-- What a cabinet was told to dispense: open until its result, or the end of its time.
CREATE TABLE trade_command (
  command_id VARCHAR(36) NOT NULL,
  order_sn VARCHAR(36) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  status VARCHAR(12) NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (command_id),
  INDEX by_cabinet (cabinet_id, status, created_at),
  INDEX by_order (order_sn)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_command;
