-- +goose Up
CREATE TABLE local_msg (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  kind VARCHAR(16) NOT NULL,
  shard INT NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  attempts INT NOT NULL,
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  INDEX by_due (kind, due_at),
  INDEX by_age (kind, shard, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE local_msg;
