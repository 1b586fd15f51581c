-- +goose Up
-- Cabinets that are warmed up together; empty is none.
ALTER TABLE trade_cabinet ADD COLUMN grp VARCHAR(32) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE trade_cabinet DROP COLUMN grp;
