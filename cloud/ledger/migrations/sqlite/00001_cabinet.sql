-- +goose Up
CREATE TABLE trade_cabinet (
  cabinet_id TEXT NOT NULL PRIMARY KEY,
  generation TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE trade_cabinet;
