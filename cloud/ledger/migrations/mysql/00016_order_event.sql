-- +goose Up
-- An order's history after its placement; body is an order.Entry.
CREATE TABLE trade_order_event (
  order_sn VARCHAR(36) NOT NULL,
  event_id VARCHAR(36) NOT NULL,
  at BIGINT NOT NULL,
  body MEDIUMBLOB NOT NULL,
  PRIMARY KEY (order_sn, event_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_order_event;
