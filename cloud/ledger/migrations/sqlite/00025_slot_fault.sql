-- +goose Up
-- Slots that are out of order; a SKU without a planogram has one slot, named as itself.
CREATE TABLE trade_slot_fault (
  cabinet_id TEXT NOT NULL,
  slot TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  fault VARCHAR(255) NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (cabinet_id, slot)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_slot_fault;
