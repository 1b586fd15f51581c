package drill

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
)

// readAgents asks every agent how it is, and what became of each event that it
// said yes to.
func (s *Site) readAgents(ctx context.Context, events []Event) (map[string]AgentState, error) {
	agents := map[string]AgentState{}
	for c, url := range s.AgentURLs() {
		var h struct {
			Depth    int64  `json:"depth"`
			Parked   int64  `json:"parked"`
			SetAside string `json:"quarantined_file"`
		}
		if err := s.call.get(ctx, url+"/v1/health", &h); err != nil {
			return nil, err
		}
		agents[c] = AgentState{Depth: h.Depth, Parked: h.Parked, SetAside: h.SetAside, Verdicts: map[string]Verdict{}}
	}
	var mu sync.Mutex // of agents and s.final
	asks, ctx := errgroup.WithContext(ctx)
	asks.SetLimit(16)
	for _, e := range events {
		if e.Kind == Phone || e.Outcome != Yes {
			continue
		}
		mu.Lock()
		v, known := s.final[e.ID]
		if known {
			agents[e.Cabinet].Verdicts[e.ID] = v
		}
		mu.Unlock()
		if known {
			continue
		}
		asks.Go(func() error {
			v, err := s.verdict(ctx, e)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			agents[e.Cabinet].Verdicts[e.ID] = v
			if v.Status == "accepted" || v.Status == "refused" {
				s.final[e.ID] = v
			}
			return nil
		})
	}
	return agents, asks.Wait()
}

// verdict is an agent's word on an event, empty if it does not know the event.
func (s *Site) verdict(ctx context.Context, e Event) (v Verdict, err error) {
	err = s.call.get(ctx, s.AgentURLs()[e.Cabinet]+"/v1/orders/"+e.ID, &v)
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusNotFound {
		return Verdict{}, nil
	}
	return v, err
}
