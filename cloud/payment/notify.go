package payment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// keepTimeout bounds how long a provider waits for us to keep its callback.
const keepTimeout = 3 * time.Second

// maxNoticeID is the longest id of a callback that is kept as it is.
const maxNoticeID = 64

// Notify takes a provider's callback and says what to answer.
//
// Promise: an answer that the callback need not come again is given when it is
// durable, and not before. Whoever claims its outbox row settles it, so nothing
// that settling needs can keep the provider waiting. Dies before it is durable:
// nothing happened, the provider sends again. Dies before the answer: the
// provider sends again, and is heard as before.
//
// Errors: ErrNoProvider; ErrUnsigned, and then nothing is stored.
func (s *Service) Notify(ctx context.Context, provider string, n Notification) (Answer, error) {
	via, ok := s.Providers[provider]
	if !ok {
		return Answer{}, ErrNoProvider
	}
	n.At = s.Clock()
	notice, err := via.Verify(n)
	if errors.Is(err, ErrUnsigned) {
		s.Counters.NoticesRefused.Add(1)
		return Answer{}, err
	}
	if err != nil {
		s.Log.Warn("a signed callback can not be read; its provider will send it again", "provider", provider, "error", err)
		return via.Answer(false), nil
	}
	if notice.ID == "" || len(notice.ID) > maxNoticeID {
		sum := sha256.Sum256(append([]byte(notice.ID), n.Body...))
		notice.ID = hex.EncodeToString(sum[:])
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	seen, err := s.Ledger.KeepNotice(ctx, provider, notice)
	if err != nil {
		s.Log.Warn("a callback could not be kept; its provider will send it again", "provider", provider, "trade_no", notice.TradeNo, "error", err)
		return via.Answer(false), nil
	}
	if seen && !notice.Retry {
		s.Counters.NoticesRefused.Add(1)
		return Answer{}, fmt.Errorf("%w: callback %s is kept already", ErrUnsigned, notice.ID)
	}
	s.Counters.NoticesKept.Add(1)
	return via.Answer(true), nil
}
