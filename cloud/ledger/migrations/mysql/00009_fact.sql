-- +goose Up
CREATE TABLE trade_fact (
  fact_id VARCHAR(36) NOT NULL PRIMARY KEY,
  cabinet_id VARCHAR(32) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  epoch VARCHAR(36) NOT NULL,
  seq BIGINT NOT NULL,
  cause VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  created_at BIGINT NOT NULL,
  INDEX by_cabinet (cabinet_id, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_fact;
