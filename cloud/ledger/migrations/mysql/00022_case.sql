-- +goose Up
-- What a person has to look at; (kind, subject) is one case, however often it is found.
CREATE TABLE trade_case (
  case_id VARCHAR(36) NOT NULL,
  kind VARCHAR(32) NOT NULL,
  subject VARCHAR(80) NOT NULL,
  order_sn VARCHAR(36) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  detail VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  status VARCHAR(8) NOT NULL,
  note VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (case_id),
  UNIQUE by_subject (kind, subject),
  INDEX by_status (status, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE trade_case;
