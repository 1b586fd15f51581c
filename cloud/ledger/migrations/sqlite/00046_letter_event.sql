-- +goose Up
CREATE TABLE dead_letter_event (
  id TEXT NOT NULL PRIMARY KEY,
  letter_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  who VARCHAR(64) NOT NULL,
  what VARCHAR(16) NOT NULL,
  note VARCHAR(1000) NOT NULL
);
CREATE INDEX dead_letter_event_by_letter ON dead_letter_event (letter_id, at, id);

-- +goose Down
DROP TABLE dead_letter_event;
