-- +goose Up
CREATE TABLE trade_fact_line (
  fact_id VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  qty INT NOT NULL,
  PRIMARY KEY (fact_id, sku_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_fact_line;
