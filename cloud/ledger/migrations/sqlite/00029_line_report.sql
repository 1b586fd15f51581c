-- +goose Up
-- What is known of a line from its cabinet. fact_id is the first report on it: its place in the outbox is when it happened.
CREATE TABLE trade_line_report (
  order_sn TEXT NOT NULL,
  sku_id TEXT NOT NULL,
  command_id TEXT NOT NULL,
  result VARCHAR(12) NOT NULL,
  units INT NOT NULL,
  fact_id TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, sku_id)
) WITHOUT ROWID;
CREATE INDEX trade_line_report_by_fact ON trade_line_report (fact_id);

-- +goose Down
DROP TABLE trade_line_report;
