-- +goose Up
INSERT INTO trade_cabinet (cabinet_id, generation, created_at) VALUES ('*', 'first', 0);

-- +goose Down
DELETE FROM trade_cabinet WHERE cabinet_id = '*';
