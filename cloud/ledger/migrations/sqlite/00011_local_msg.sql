-- +goose Up
CREATE TABLE local_msg (
  id TEXT NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  shard INT NOT NULL,
  payload BLOB NOT NULL,
  attempts INT NOT NULL,
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL
);
CREATE INDEX local_msg_by_due ON local_msg (kind, due_at);
CREATE INDEX local_msg_by_age ON local_msg (kind, shard, created_at);

-- +goose Down
DROP TABLE local_msg;
