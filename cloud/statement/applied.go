package statement

import "vendline/cloud/order"

// Applied says what became of a batch.
type Applied struct {
	Known   []Statement // the deduct log knows all their lines: settle them in Redis
	Waiting []Statement // lines that had to wait: their SKU is short until a release comes
	Dead    int         // statements buried as dead letters
}

// Shortage is what a settled physical shortage cost.
type Shortage struct {
	Cabinet string
	SKU     string
	Losers  []order.Order // rolled back, newest first
	// Withdrawn are paid orders that no cabinet had heard of: taken back and
	// refunded, newest first.
	Withdrawn []order.Order
	Drift     int64 // units booked as drift, since nobody could lose
}

// Shard spreads cabinets over n shards (FNV-1a).
func Shard(cabinet string, n int) int {
	h := uint32(2166136261)
	for i := range len(cabinet) {
		h = (h ^ uint32(cabinet[i])) * 16777619
	}
	return int(h % uint32(n))
}
