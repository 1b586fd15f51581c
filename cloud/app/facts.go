package app

import (
	"context"

	"vendline/cloud/intake"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// planograms hears which planogram a cabinet works by.
type planograms interface {
	AckPlanogram(ctx context.Context, cabinet string, version int64) error
}

// facts books what physically happened, each kind its own way.
type facts struct {
	*ledger.Ledger
	planograms planograms
}

// NewFacts books facts in a ledger, as a service does.
func NewFacts(l *ledger.Ledger) intake.Facts { return facts{l, l} }

func (f facts) Record(ctx context.Context, cabinet string, e wire.Event) error {
	said := e.Fact
	fact := ledger.Fact{ID: e.ID, Cabinet: cabinet, Epoch: e.Epoch, Seq: e.Seq, Cause: "cabinet", Lines: said.Lines}
	switch said.Kind {
	case wire.FactSale:
		fact.State = statement.Sale
		return f.Ledger.Record(ctx, fact)
	case wire.FactRestock:
		fact.State = statement.Restock
		if len(said.Counts) == 0 {
			return f.Ledger.Record(ctx, fact)
		}
	case wire.FactStocktake:
		fact.State = ledger.Stocktake
	case wire.FactDispense:
		fact.State = ledger.Dispense
	case wire.FactSlotFault:
		fact.State = ledger.SlotFault
	case wire.FactDoor:
		fact.State = ledger.Door
	case wire.FactPlanogram:
		fact.State = ledger.Planogram
	default:
		return &order.Refusal{Code: wire.CodeInvalidRequest, Detail: "no such fact: " + string(said.Kind)}
	}
	fact.Body = wire.Encode(said)
	switch said.Kind {
	case wire.FactRestock, wire.FactStocktake:
		return f.RecordCount(ctx, ledger.Count{Fact: fact, Counts: said.Counts, Upto: said.Upto})
	case wire.FactDispense:
		return f.RecordDispense(ctx, fact, *said.Dispense)
	case wire.FactSlotFault:
		return f.RecordSlotFault(ctx, fact, said.Slot, said.Fault)
	}
	if err := f.RecordNews(ctx, fact); err != nil || said.Kind != wire.FactPlanogram {
		return err
	}
	// Dies before: the cabinet was not answered, sends the fact again, and it ends here again.
	return f.planograms.AckPlanogram(ctx, cabinet, said.Planogram)
}
