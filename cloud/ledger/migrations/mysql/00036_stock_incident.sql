-- +goose Up
-- When Redis, or a part of it, was fenced, and why.
CREATE TABLE stock_incident (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  reason VARCHAR(16) NOT NULL,
  place VARCHAR(96) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  cabinets BIGINT NOT NULL,
  INDEX by_time (at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE stock_incident;
