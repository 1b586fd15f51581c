-- +goose Up
ALTER TABLE dead_letter ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
ALTER TABLE dead_letter ADD COLUMN cabinet_id TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN first_error TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN origin TEXT NULL;
ALTER TABLE dead_letter ADD COLUMN row_id TEXT NULL;
CREATE UNIQUE INDEX dead_letter_by_origin ON dead_letter (origin);
CREATE INDEX dead_letter_by_row ON dead_letter (row_id);
CREATE INDEX dead_letter_by_state ON dead_letter (state, buried_at, id);
CREATE INDEX dead_letter_by_shard ON dead_letter (source, state, shard, created_at);

-- +goose Down
DROP INDEX dead_letter_by_shard;
DROP INDEX dead_letter_by_state;
DROP INDEX dead_letter_by_row;
DROP INDEX dead_letter_by_origin;
ALTER TABLE dead_letter DROP COLUMN row_id;
ALTER TABLE dead_letter DROP COLUMN origin;
ALTER TABLE dead_letter DROP COLUMN last_error;
ALTER TABLE dead_letter DROP COLUMN first_error;
ALTER TABLE dead_letter DROP COLUMN subject;
ALTER TABLE dead_letter DROP COLUMN cabinet_id;
ALTER TABLE dead_letter DROP COLUMN state;
