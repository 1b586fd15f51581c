-- +goose Up
-- What was ordered and paid, by the day of the order in UTC, as the last audit found it; day is Unix ms.
CREATE TABLE day_total (
  day BIGINT NOT NULL,
  currency CHAR(3) NOT NULL,
  orders BIGINT NOT NULL,
  units BIGINT NOT NULL,
  consumed BIGINT NOT NULL,
  captured BIGINT NOT NULL,
  refunded BIGINT NOT NULL,
  audited_at BIGINT NOT NULL,
  PRIMARY KEY (day, currency)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE day_total;
