-- +goose Up
CREATE TABLE trade_stock_ticket (
  cabinet_id TEXT NOT NULL,
  generation TEXT NOT NULL,
  ticket BIGINT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (cabinet_id, generation, ticket)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE trade_stock_ticket;
