-- +goose Up
-- What became of alerts, and what was done about them.
CREATE TABLE alert_event (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  alert_key VARCHAR(128) NOT NULL,
  at BIGINT NOT NULL,
  who VARCHAR(64) NOT NULL,
  what VARCHAR(16) NOT NULL,
  note VARCHAR(1000) NOT NULL
) WITHOUT ROWID;
CREATE INDEX alert_event_by_time ON alert_event (at, id);

-- +goose Down
DROP TABLE alert_event;
