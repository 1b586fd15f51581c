package deduct

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/fence"
	"vendline/lua"
)

// Generation returns what the cabinet's stock is loaded under, "" if it is not loaded.
func (s *Stock) Generation(ctx context.Context, cabinet string) (string, error) {
	generation, err := s.rdb.HGet(ctx, lua.KeysOf(cabinet, "", "").Stock, lua.FieldGeneration).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("deduct: generation of %s: %w", cabinet, err)
	}
	return generation, nil
}

// Load replaces the cabinet's stock. It first fences the cabinet under a token
// of its own, stages everything in chunks that check the token, and shows the
// generation last. Dies in between: the cabinet stays fenced. Two loads at
// once: the later one to begin wins, the other gets ErrMoved at its next chunk
// and has left nothing but markers of a generation that never appears.
func (s *Stock) Load(ctx context.Context, snap fence.Snapshot) error {
	if err := s.load(ctx, snap); err != nil {
		return fmt.Errorf("load %s: %w", snap.Cabinet, err)
	}
	return nil
}

func (s *Stock) load(ctx context.Context, snap fence.Snapshot) error {
	if snap.Generation == "" || strings.Contains(snap.Generation, "|") {
		return fmt.Errorf("%q names no generation", snap.Generation)
	}
	l := loading{s: s, snap: snap, keys: lua.KeysOf(snap.Cabinet, "", ""), token: s.opt.Token()}
	r, err := s.one(ctx, &s.lua.LoadBegin, []string{l.keys.Stock, l.keys.Resv}, l.token, snap.Generation, s.opt.Now().UnixMilli())
	switch {
	case err != nil:
		return err
	case r.code == lua.Seen:
		return ErrLoaded
	case r.code != lua.OK:
		return r.refused()
	}
	chunks := l.chunks()
	for from := 0; from < len(chunks); from += chunksAtOnce {
		some := chunks[from:min(from+chunksAtOnce, len(chunks))]
		s.run(ctx, some)
		for _, c := range some {
			if c.err == nil {
				c.err = c.reply.refused()
			}
			if c.err != nil {
				return c.err
			}
		}
	}
	if r, err = s.one(ctx, &s.lua.LoadCommit, []string{l.keys.Stock}, l.token, snap.Generation); err != nil {
		return err
	}
	return r.refused()
}

// chunksAtOnce bounds a pipeline of chunks, between which Redis serves others.
const chunksAtOnce = 4
