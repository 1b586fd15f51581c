-- +goose Up
-- Where Redis was found to differ from the ledger, and what became of it.
CREATE TABLE reconcile_finding (
  finding_id VARCHAR(36) NOT NULL,
  sku_id VARCHAR(64) NOT NULL,
  cabinet_id VARCHAR(32) NOT NULL,
  expected BIGINT NOT NULL,
  found BIGINT NOT NULL,
  state VARCHAR(12) NOT NULL,
  at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (finding_id, sku_id),
  INDEX by_time (at),
  INDEX by_state (state, cabinet_id)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

-- +goose Down
DROP TABLE reconcile_finding;
