-- +goose Up
-- Redis masters that were met: one that is not here may have lost writes.
CREATE TABLE stock_server (
  identity VARCHAR(96) NOT NULL PRIMARY KEY,
  place VARCHAR(96) NOT NULL,
  seen_at BIGINT NOT NULL,
  evicted BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE stock_server;
