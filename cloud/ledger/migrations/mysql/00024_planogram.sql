-- +goose Up
-- Slots and prices of a cabinet by version; body is a wire.Planogram.
CREATE TABLE trade_planogram (
  cabinet_id VARCHAR(32) NOT NULL,
  version BIGINT NOT NULL,
  body MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  acked_at BIGINT NULL,
  PRIMARY KEY (cabinet_id, version)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_planogram;
