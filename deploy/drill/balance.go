package drill

type report = func(id, fault, format string, args ...any)

func rowsAddUp(e evidence, broken report) {
	for _, r := range e.state.Stock {
		if r.Total != r.Available+r.Locked+r.Sold || min(r.Total, r.Available, r.Locked, r.Sold) < 0 {
			broken("", "", "%+v", r)
		}
	}
}

// logExplainsStock counts every shelf anew from its opening stock and the log.
func logExplainsStock(e evidence, broken report) {
	want := map[shelf]StockRow{}
	for _, c := range e.plan.Cabinets {
		for sku, n := range e.plan.Opening() {
			want[shelf{c, sku}] = StockRow{Cabinet: c, SKU: sku, Total: n, Available: n}
		}
	}
	for _, g := range e.state.Log {
		k := shelf{g.Cabinet, g.SKU}
		w := want[k]
		w.Cabinet, w.SKU = g.Cabinet, g.SKU
		switch g.Status {
		case "PRE_RESERVED":
			w.Available, w.Locked = w.Available-g.Qty, w.Locked+g.Qty
		case "CONSUMED", "SALE":
			w.Available, w.Sold = w.Available-g.Qty, w.Sold+g.Qty
		case "RESTOCK", "DRIFT":
			w.Available, w.Total = w.Available+g.Qty, w.Total+g.Qty
		case "LOSS":
			w.Available, w.Total = w.Available-g.Qty, w.Total-g.Qty
		case "RETURN":
			w.Available, w.Sold = w.Available+g.Qty, w.Sold-g.Qty
		}
		want[k] = w
	}
	for _, r := range e.state.Stock {
		k := shelf{r.Cabinet, r.SKU}
		if want[k] != r {
			broken("", "", "the row is %+v, the log says %+v", r, want[k])
		}
		delete(want, k)
	}
	for k, w := range want {
		broken("", "", "there is no row of %s at %s; the log says %+v", k.sku, k.cabinet, w)
	}
}

type logKey struct{ id, sku string }

// logKnowsAll compares the log with orders and facts, line by line, both ways.
func logKnowsAll(e evidence, broken report) {
	known := map[logKey]LogRow{}
	for _, g := range e.state.Log {
		k := logKey{g.ID, g.SKU}
		if _, twice := known[k]; twice {
			broken(g.ID, "", "line %s is in the log twice", g.SKU)
		}
		known[k] = g
	}
	line := func(want LogRow) {
		k := logKey{want.ID, want.SKU}
		got, ok := known[k]
		delete(known, k)
		switch {
		case !ok:
			broken(want.ID, "", "the log does not know line %s", want.SKU)
		case got != want:
			broken(want.ID, "", "the log says %+v, it stands at %+v", got, want)
		}
	}
	for _, o := range e.state.Orders {
		for _, l := range o.Lines {
			line(LogRow{ID: o.ID, SKU: l.SKU, Cabinet: o.Cabinet, Status: o.Status, Qty: l.Qty, Version: o.Version})
		}
	}
	for _, f := range e.state.Facts {
		for _, l := range f.Lines {
			line(LogRow{ID: f.ID, SKU: l.SKU, Cabinet: f.Cabinet, Status: f.Kind, Qty: int64(l.Qty), Version: 1})
		}
	}
	for k, g := range known {
		broken(k.id, "", "the log knows a line that no order or fact has: %+v", g)
	}
}
