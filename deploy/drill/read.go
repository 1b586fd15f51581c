package drill

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vendline/lua"
)

// Read reads all stores. MySQL is read as of one instant.
func (s *Site) Read(ctx context.Context, events []Event) (State, error) {
	st := State{At: time.Now().UnixMilli(), Clocks: s.book.Clocks(), Redis: map[string]RedisStock{}}
	if err := s.readTables(ctx, &st); err != nil {
		return st, fmt.Errorf("drill: read MySQL: %w", err)
	}
	for id, p := range st.Purses {
		p.Returned = s.Till.Refunded(id)
		st.Purses[id] = p
	}
	for _, c := range s.Plan.Cabinets {
		stock, err := s.readRedis(ctx, c)
		if err != nil {
			return st, fmt.Errorf("drill: read Redis: %w", err)
		}
		st.Redis[c] = stock
	}
	var err error
	if st.Queue, err = s.depth(ctx); err != nil {
		return st, fmt.Errorf("drill: look into the queue: %w", err)
	}
	if st.Agents, err = s.readAgents(ctx, events); err != nil {
		return st, fmt.Errorf("drill: ask an agent: %w", err)
	}
	return st, nil
}

func (s *Site) readRedis(ctx context.Context, cabinet string) (RedisStock, error) {
	k := lua.KeysOf(cabinet, "", "")
	fields, err := s.redis.HGetAll(ctx, k.Stock).Result()
	if err != nil {
		return RedisStock{}, err
	}
	stock := RedisStock{Generation: fields[lua.FieldGeneration], Units: map[string]int64{}}
	for field, text := range fields {
		if strings.HasPrefix(field, "#") {
			continue
		}
		if stock.Units[field], err = strconv.ParseInt(text, 10, 64); err != nil {
			return stock, err
		}
	}
	stock.Reserved, err = s.redis.HKeys(ctx, k.Resv).Result()
	return stock, err
}
