-- +goose Up
-- Alerts that are not told for a while: one by its key, or a rule's by their labels.
CREATE TABLE alert_snooze (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  alert_key VARCHAR(128) NOT NULL,
  rule VARCHAR(64) NOT NULL,
  labels VARCHAR(1000) NOT NULL,
  until_at BIGINT NOT NULL,
  reason VARCHAR(1000) NOT NULL,
  by_whom VARCHAR(64) NOT NULL,
  at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX alert_snooze_by_until ON alert_snooze (until_at);

-- +goose Down
DROP TABLE alert_snooze;
