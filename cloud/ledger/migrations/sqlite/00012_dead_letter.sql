-- +goose Up
CREATE TABLE dead_letter (
  id TEXT NOT NULL PRIMARY KEY,
  source VARCHAR(32) NOT NULL,
  shard INT NOT NULL,
  reason VARCHAR(255) NOT NULL,
  payload BLOB NOT NULL,
  meta BLOB NOT NULL,
  attempts INT NOT NULL,
  created_at BIGINT NOT NULL,
  buried_at BIGINT NOT NULL
);
CREATE INDEX dead_letter_by_source ON dead_letter (source, shard, created_at);

-- +goose Down
DROP TABLE dead_letter;
