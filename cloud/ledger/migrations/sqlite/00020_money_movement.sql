-- +goose Up
-- What happened to a payer's money; see money.Movement.
CREATE TABLE money_movement (
  order_sn TEXT NOT NULL,
  kind VARCHAR(12) NOT NULL,
  ref TEXT NOT NULL,
  amount BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (order_sn, kind, ref)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE money_movement;
