-- +goose Up
-- Slots and prices of a cabinet by version; body is a wire.Planogram.
CREATE TABLE trade_planogram (
  cabinet_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  body BLOB NOT NULL,
  created_at BIGINT NOT NULL,
  acked_at BIGINT NULL,
  PRIMARY KEY (cabinet_id, version)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_planogram;
