-- +goose Up
-- What became of alerts, and what was done about them.
CREATE TABLE alert_event (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  alert_key VARCHAR(128) NOT NULL,
  at BIGINT NOT NULL,
  who VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  what VARCHAR(16) NOT NULL,
  note VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL,
  INDEX by_time (at, id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;


-- +goose Down
DROP TABLE alert_event;
