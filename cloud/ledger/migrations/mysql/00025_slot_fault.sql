-- +goose Up
-- Slots that are out of order; a SKU without a planogram has one slot, named as itself.
CREATE TABLE trade_slot_fault (
  cabinet_id VARCHAR(32) NOT NULL,
  slot VARCHAR(64) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  fault VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (cabinet_id, slot)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_slot_fault;
