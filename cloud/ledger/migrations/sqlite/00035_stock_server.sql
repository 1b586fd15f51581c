-- +goose Up
-- Redis masters that were met: one that is not here may have lost writes.
CREATE TABLE stock_server (
  identity VARCHAR(96) NOT NULL PRIMARY KEY,
  place VARCHAR(96) NOT NULL,
  seen_at BIGINT NOT NULL,
  evicted BIGINT NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE stock_server;
