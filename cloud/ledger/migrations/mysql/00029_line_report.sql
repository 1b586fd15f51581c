-- +goose Up
-- What is known of a line from its cabinet. fact_id is the first report on it: its place in the outbox is when it happened.
CREATE TABLE trade_line_report (
  order_sn VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  command_id VARCHAR(36) NOT NULL,
  result VARCHAR(12) NOT NULL,
  units INT NOT NULL,
  fact_id VARCHAR(36) NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id),
  INDEX by_fact (fact_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_line_report;
