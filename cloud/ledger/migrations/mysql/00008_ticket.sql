-- +goose Up
CREATE TABLE trade_stock_ticket (
  cabinet_id VARCHAR(32) NOT NULL,
  generation VARCHAR(40) NOT NULL,
  ticket BIGINT NOT NULL,
  owner VARCHAR(64) NOT NULL,
  PRIMARY KEY (cabinet_id, generation, ticket)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_stock_ticket;
