-- +goose Up
-- An order's history after its placement; body is an order.Entry.
CREATE TABLE trade_order_event (
  order_sn TEXT NOT NULL,
  event_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (order_sn, event_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_order_event;
