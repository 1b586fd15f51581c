package payment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	callTimeout = 5 * time.Second // of one call to a provider
	deadAfter   = 8               // failed calls in a row, after which nobody waits for a provider …
	deadFor     = 3 * time.Second // … for so long
)

// errDead says that a provider was not even asked: it did not answer lately.
var errDead = errors.New("payment: the provider does not answer lately")

// Who calls: a shopper who waits is let through to a provider that seems dead.
const (
	insistent = true
	patient   = false
)

// lines is what is known of how providers answer. A provider that hangs must
// not hold up thousands of orders for five seconds each.
type lines struct {
	mu   sync.Mutex
	by   map[string]*line
	once sync.Once
}

type line struct {
	failed int       // in a row
	until  time.Time // dead until then
}

func (l *lines) of(provider string) *line {
	l.once.Do(func() { l.by = map[string]*line{} })
	if l.by[provider] == nil {
		l.by[provider] = &line{}
	}
	return l.by[provider]
}

func (l *lines) dead(provider string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.of(provider).until)
}

// answered takes note of a call's end, and says whether the line went dead by it.
func (l *lines) answered(provider string, well bool, now time.Time) (died bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(provider)
	if well {
		*a = line{}
		return false
	}
	a.failed++
	if a.failed < deadAfter {
		return false
	}
	died = a.until.IsZero()
	a.until = now.Add(deadFor)
	return died
}

// call asks a provider, for callTimeout. ErrPaid and ErrRefused are answers; any
// other error says that the outcome is unknown.
func call[T any](ctx context.Context, s *Service, provider string, insists bool, ask func(context.Context, Provider) (T, error)) (T, error) {
	var none T
	via, ok := s.Providers[provider]
	if !ok {
		return none, fmt.Errorf("%w: %s", ErrNoProvider, provider)
	}
	if !insists && s.lines.dead(provider, s.Clock()) {
		return none, errDead
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s.Counters.ProviderCalls.Add(1)
	got, err := ask(ctx, via)
	well := err == nil || errors.Is(err, ErrPaid) || errors.Is(err, ErrRefused)
	if !well {
		s.Counters.ProviderFailures.Add(1)
	}
	if s.lines.answered(provider, well, s.Clock()) {
		s.Log.Warn("a provider does not answer", "provider", provider, "error", err)
	}
	return got, err
}

func (s *Service) query(ctx context.Context, p Payment) (Charged, error) {
	return call(ctx, s, p.Provider, patient, func(ctx context.Context, via Provider) (Charged, error) { return via.Query(ctx, p.TradeNo) })
}

func (s *Service) closeAt(ctx context.Context, p Payment) error {
	_, err := call(ctx, s, p.Provider, patient, func(ctx context.Context, via Provider) (struct{}, error) {
		return struct{}{}, via.Close(ctx, p.TradeNo)
	})
	return err
}
