package drill

import (
	"fmt"
	"math/rand/v2"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Plan is what a run is made of: one seed, the cabinets, and what they hold.
// Baskets, choices and pauses come from the seed; how the machine interleaves
// them does not.
type Plan struct {
	Seed     uint64
	Turn     uint64 // which cycle of the run it is for
	Cabinets []string
	Products []order.Product
	Units    int64 // opening stock of each product in each cabinet
	Plenty   int64 // … of ProbeSKU
	Shoppers int   // how many people there are
}

// ProbeSKU never runs out and is in no shopper's basket: what is ordered to
// find out whether the path is open.
const ProbeSKU = "probe"

// floodSKU's price makes the provider send the callback for three of it, 3.93, 20
// times at once; see docs/payments.md.
const floodSKU = "flood"

// NewPlan has two cabinets with so little stock that most orders are short.
func NewPlan(seed uint64) Plan {
	p := Plan{Seed: seed, Cabinets: []string{"D001", "D002"}, Units: 60, Plenty: 100_000, Shoppers: 400}
	for i := 1; i <= 6; i++ {
		p.Products = append(p.Products, order.Product{SKU: fmt.Sprintf("sku-%d", i), Name: fmt.Sprintf("Product %d", i), Price: int64(100 + 50*i), Currency: "CNY"})
	}
	p.Products[5].UserLimit = 4 // so that the way of purchase limits is walked too
	p.Products = append(p.Products, order.Product{SKU: floodSKU, Name: "Flood", Price: 131, Currency: "CNY"})
	p.Products = append(p.Products, order.Product{SKU: ProbeSKU, Name: "Probe", Price: 1, Currency: "CNY"})
	return p
}

// Opening is the stock each cabinet starts with, by SKU.
func (p Plan) Opening() map[string]int64 {
	opening := map[string]int64{}
	for _, product := range p.Products {
		opening[product.SKU] = p.Units
	}
	opening[ProbeSKU] = p.Plenty
	return opening
}

// Price is what a SKU costs, in minor units.
func (p Plan) Price(sku string) int64 {
	for _, product := range p.Products {
		if product.SKU == sku {
			return product.Price
		}
	}
	return 0
}

// Rand is a source of its own for each part of a cycle.
func (p Plan) Rand(part uint64) *rand.Rand { return rand.New(rand.NewPCG(p.Seed, p.Turn<<32|part)) }

// wish is what somebody wants: a basket, as they typed it.
type wish struct {
	cabinet, user string
	lines         []wire.Line // may name a SKU twice
}

// wish draws a shopper with one to three lines.
func (p Plan) wish(r *rand.Rand) wish {
	w := wish{cabinet: p.Cabinets[r.IntN(len(p.Cabinets))], user: fmt.Sprintf("shopper-%d", r.IntN(p.Shoppers))}
	for range 1 + r.IntN(3) {
		w.lines = append(w.lines, wire.Line{SKU: p.Products[r.IntN(len(p.Products)-1)].SKU, Qty: 1 + r.IntN(2)})
	}
	return w
}

// delivery draws what somebody with a trolley puts in.
func (p Plan) delivery(r *rand.Rand) wish {
	w := wish{cabinet: p.Cabinets[r.IntN(len(p.Cabinets))]}
	for range 1 + r.IntN(2) {
		w.lines = append(w.lines, wire.Line{SKU: p.Products[r.IntN(len(p.Products)-1)].SKU, Qty: 3 + r.IntN(6)})
	}
	return w
}
