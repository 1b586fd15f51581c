-- +goose Up
-- Who evaluates alerts, and when a paced sink may be spoken to.
CREATE TABLE alert_lease (
  name VARCHAR(96) NOT NULL PRIMARY KEY,
  holder VARCHAR(96) NOT NULL,
  until_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE alert_lease;
