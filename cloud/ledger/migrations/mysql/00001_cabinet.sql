-- +goose Up
CREATE TABLE trade_cabinet (
  cabinet_id VARCHAR(32) NOT NULL PRIMARY KEY,
  generation VARCHAR(40) NOT NULL,
  created_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_cabinet;
