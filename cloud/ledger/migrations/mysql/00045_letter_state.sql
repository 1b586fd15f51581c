-- +goose Up
ALTER TABLE dead_letter
  ADD COLUMN state VARCHAR(16) NOT NULL DEFAULT 'open',
  ADD COLUMN cabinet_id VARCHAR(32) NOT NULL DEFAULT '',
  ADD COLUMN subject VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN first_error VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
  ADD COLUMN last_error VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
  ADD COLUMN origin CHAR(64) NULL,
  ADD COLUMN row_id VARCHAR(36) NULL,
  ADD UNIQUE INDEX by_origin (origin),
  ADD INDEX by_row (row_id),
  ADD INDEX by_state (state, buried_at, id),
  ADD INDEX by_shard (source, state, shard, created_at);

-- +goose Down
ALTER TABLE dead_letter DROP INDEX by_origin, DROP INDEX by_row, DROP INDEX by_state, DROP INDEX by_shard,
  DROP COLUMN state, DROP COLUMN cabinet_id, DROP COLUMN subject, DROP COLUMN first_error, DROP COLUMN last_error, DROP COLUMN origin, DROP COLUMN row_id;
