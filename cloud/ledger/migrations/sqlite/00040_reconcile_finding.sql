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
  PRIMARY KEY (finding_id, sku_id)
) WITHOUT ROWID;
CREATE INDEX reconcile_finding_by_time ON reconcile_finding (at);
CREATE INDEX reconcile_finding_by_state ON reconcile_finding (state, cabinet_id);

-- +goose Down
DROP TABLE reconcile_finding;
