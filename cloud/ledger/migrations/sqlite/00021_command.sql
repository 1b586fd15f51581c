-- +goose Up
-- What a cabinet was told to dispense: open until its result, or the end of its time.
CREATE TABLE trade_command (
  command_id TEXT NOT NULL,
  order_sn TEXT NOT NULL,
  cabinet_id TEXT NOT NULL,
  status VARCHAR(12) NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (command_id)
) WITHOUT ROWID;
CREATE INDEX trade_command_by_cabinet ON trade_command (cabinet_id, status, created_at);
CREATE INDEX trade_command_by_order ON trade_command (order_sn);

-- +goose Down
DROP TABLE trade_command;
