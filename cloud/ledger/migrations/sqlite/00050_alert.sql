-- +goose Up
-- One row per alert. body is alert.Alert in JSON; the other columns are what is looked for.
CREATE TABLE alert (
  alert_key VARCHAR(128) NOT NULL PRIMARY KEY,
  rule VARCHAR(64) NOT NULL,
  severity VARCHAR(16) NOT NULL,
  state VARCHAR(16) NOT NULL,
  version BIGINT NOT NULL,
  since BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  notified_at BIGINT NOT NULL,
  body BLOB NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE alert;
