-- +goose Up
CREATE TABLE trade_fact_line (
  fact_id TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  qty INT NOT NULL,
  PRIMARY KEY (fact_id, sku_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_fact_line;
