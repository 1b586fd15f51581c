package model_test

import (
	"testing"

	"vendline/cloud/model"
)

const steps = 400

func TestEveryHistoryEndsExact(t *testing.T) {
	n := uint64(20_000)
	if testing.Short() {
		n = 4_000
	}
	var caught, shortages, repairs int
	for seed := range n {
		s, err := model.Run(seed, steps, "")
		if err != nil {
			t.Fatal(err)
		}
		caught, shortages, repairs = caught+s.Caught, shortages+s.Shortages, repairs+s.Repairs
	}
	if caught == 0 || repairs == 0 {
		t.Errorf("%d losses caught by a ticket, %d repairs: the histories are too tame", caught, repairs)
	}
	t.Logf("%d histories: %d losses caught by a ticket, %d holds lost to a shortage, %d repairs", n, caught, shortages, repairs)
}

// Without tickets both sides still end exact, but by taking holds back from
// shoppers: a loss of Redis is told by nobody until step 8's guard.
func TestTicketsAreWhatKeepsALossOfRedisFromCostingHolds(t *testing.T) {
	oversold := func(bug model.Bug) (n int) {
		for seed := range uint64(3_000) {
			s, err := model.Run(seed, steps, bug)
			if err != nil {
				t.Fatal(err)
			}
			n += s.Oversold
		}
		return n
	}
	with, without := oversold(""), oversold(model.NoTicket)
	t.Logf("%d holds lost with tickets, %d without", with, without)
	if without < 20*max(1, with) {
		t.Errorf("tickets spare too little: %d holds lost with them, %d without", with, without)
	}
}

func TestEachPlantedBugIsCaught(t *testing.T) {
	for _, bug := range model.Bugs {
		if bug == model.NoTicket {
			continue // costs shoppers, not sums: see below
		}
		t.Run(string(bug), func(t *testing.T) {
			for seed := range uint64(5_000) {
				if _, err := model.Run(seed, steps, bug); err != nil {
					t.Log(err)
					return
				}
			}
			t.Error("no history notices")
		})
	}
}
