-- +goose Up
ALTER TABLE local_msg ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
CREATE INDEX local_msg_by_attempts ON local_msg (attempts, kind);

-- +goose Down
DROP INDEX local_msg_by_attempts;
ALTER TABLE local_msg DROP COLUMN last_error;
