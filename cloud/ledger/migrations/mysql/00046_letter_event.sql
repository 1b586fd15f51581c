-- +goose Up
CREATE TABLE dead_letter_event (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  letter_id VARCHAR(36) NOT NULL,
  at BIGINT NOT NULL,
  who VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
  what VARCHAR(16) NOT NULL,
  note VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL,
  INDEX by_letter (letter_id, at, id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE dead_letter_event;
