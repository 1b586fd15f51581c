-- +goose Up
CREATE TABLE dead_letter (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  source VARCHAR(32) NOT NULL,
  shard INT NOT NULL,
  reason VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  meta MEDIUMBLOB NOT NULL,
  attempts INT NOT NULL,
  created_at BIGINT NOT NULL,
  buried_at BIGINT NOT NULL,
  INDEX by_source (source, shard, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE dead_letter;
