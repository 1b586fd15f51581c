-- +goose Up
-- What happened to a payer's money; see money.Movement.
CREATE TABLE money_movement (
  order_sn VARCHAR(36) NOT NULL,
  kind VARCHAR(12) NOT NULL,
  ref VARCHAR(36) NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, kind, ref)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE money_movement;
