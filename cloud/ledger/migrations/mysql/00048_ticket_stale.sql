-- +goose Up
CREATE TABLE trade_ticket_stale (
  cabinet_id VARCHAR(32) NOT NULL,
  generation VARCHAR(40) NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (cabinet_id, generation)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_ticket_stale;
