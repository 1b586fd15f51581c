package ledgertest

import (
	"context"
	"testing"
	"time"

	"vendline/cloud/outbox"
)

// outages are promises about a server that does not answer.
func outages() []promise {
	return []promise{
		{"a database that does not answer costs no attempt, however often it is asked", costsNothing},
	}
}

func costsNothing(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	msgs := f.messages()
	other := f.holdRow(f.count("SELECT id FROM trade_sku_stock WHERE sku_id = 'cola'"))
	for range outbox.StatementRetries.Attempts + 4 {
		ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
		a, err := f.Apply(ctx, msgs)
		cancel()
		if err == nil {
			t.Fatalf("applied %+v over somebody's lock", a)
		}
	}
	f.ok(other.Rollback())
	if left := f.messages(); len(left) != 1 || left[0].Attempt != 0 || left[0].Row != msgs[0].Row {
		t.Errorf("waits %+v", left)
	}
	if n, err := f.CountLetters(f.ctx); err != nil || n != 0 {
		t.Errorf("%d letters, %v", n, err)
	}
	f.apply(msgs...)
	f.wantStock("cola", 9, 1, 0)
}
