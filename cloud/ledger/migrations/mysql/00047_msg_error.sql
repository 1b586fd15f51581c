-- +goose Up
ALTER TABLE local_msg
  ADD COLUMN last_error VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
  ADD INDEX by_attempts (attempts, kind);

-- +goose Down
ALTER TABLE local_msg DROP INDEX by_attempts, DROP COLUMN last_error;
