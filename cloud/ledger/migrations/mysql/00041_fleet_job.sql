-- +goose Up
-- What one process of the fleet does at its time, whoever comes first.
CREATE TABLE fleet_job (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  due_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  report TEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE fleet_job;
