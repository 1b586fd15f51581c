-- +goose Up
-- What a person has to look at; (kind, subject) is one case, however often it is found.
CREATE TABLE trade_case (
  case_id TEXT NOT NULL,
  kind VARCHAR(32) NOT NULL,
  subject VARCHAR(80) NOT NULL,
  order_sn TEXT NOT NULL,
  cabinet_id TEXT NOT NULL,
  detail VARCHAR(255) NOT NULL,
  status VARCHAR(8) NOT NULL,
  note VARCHAR(255) NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (case_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX trade_case_by_subject ON trade_case (kind, subject);
CREATE INDEX trade_case_by_status ON trade_case (status, created_at);

-- +goose Down
DROP TABLE trade_case;
