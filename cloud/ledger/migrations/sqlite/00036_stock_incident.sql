-- +goose Up
-- When Redis, or a part of it, was fenced, and why.
CREATE TABLE stock_incident (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  reason VARCHAR(16) NOT NULL,
  place VARCHAR(96) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  cabinets BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX stock_incident_by_time ON stock_incident (at);

-- +goose Down
DROP TABLE stock_incident;
