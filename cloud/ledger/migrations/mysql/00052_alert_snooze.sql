-- +goose Up
-- Alerts that are not told for a while: one by its key, or a rule's by their labels.
CREATE TABLE alert_snooze (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  alert_key VARCHAR(128) NOT NULL,
  rule VARCHAR(64) NOT NULL,
  labels VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL,
  until_at BIGINT NOT NULL,
  reason VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL,
  by_whom VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  at BIGINT NOT NULL,
  INDEX by_until (until_at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;


-- +goose Down
DROP TABLE alert_snooze;
