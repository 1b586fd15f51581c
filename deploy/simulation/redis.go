package simulation

import (
	"maps"
	"slices"
	"time"
)

// dump is what Redis holds, as a snapshot file would.
type dump struct {
	texts  map[string]string
	hashes map[string]map[string]string
	ttls   map[string]time.Duration
}

func (w *world) dump() dump {
	d := dump{map[string]string{}, map[string]map[string]string{}, map[string]time.Duration{}}
	for _, key := range w.redis.Keys() {
		if text, err := w.redis.Get(key); err == nil {
			d.texts[key] = text
		} else if fields, err := w.redis.HKeys(key); err == nil {
			d.hashes[key] = map[string]string{}
			for _, f := range fields {
				d.hashes[key][f] = w.redis.HGet(key, f)
			}
		}
		d.ttls[key] = w.redis.TTL(key)
	}
	return d
}

// restore lets Redis come back with an older dump: it lost what came after.
func (w *world) restore(d dump) {
	w.redis.FlushAll()
	for key, text := range d.texts {
		w.check("restore", w.redis.Set(key, text))
	}
	for key, fields := range d.hashes {
		for f, v := range fields {
			w.redis.HSet(key, f, v)
		}
	}
	for key, ttl := range d.ttls {
		if ttl > 0 {
			w.redis.SetTTL(key, ttl)
		}
	}
}

// loseRedis lets Redis forget: it restarts empty or with an older dump, or it
// drops a key to make room.
func (w *world) loseRedis() {
	if !w.opt.lossy {
		return
	}
	keys := w.redis.Keys()
	slices.Sort(keys)
	switch x := w.rng.IntN(6); {
	case x == 0 && len(keys) > 0:
		key := keys[w.rng.IntN(len(keys))]
		w.redis.Del(key)
		w.evicted++
		w.fired[RedisEvicts]++
		w.trace("redis", "drops", key)
	case x == 1 || len(w.dumps) == 0:
		w.redis.FlushAll()
		w.server++
		w.fired[RedisEmpty]++
		w.trace("redis", "comes back", "empty")
	default:
		n := 1 + w.rng.IntN(min(3, len(w.dumps)))
		w.restore(w.dumps[len(w.dumps)-n])
		w.dumps = w.dumps[:len(w.dumps)-n+1]
		w.server++
		w.fired[RedisOld]++
		w.trace("redis", "comes back", "with an older dump")
	}
	w.lossy = true
	if w.rng.IntN(2) == 0 { // its run id says nothing: a replica under the same name, say
		w.unmet = true
		w.fired[MetLate]++
	}
}

// save takes a dump, as Redis does now and then.
func (w *world) save() {
	w.dumps = append(w.dumps, w.dump())
	if len(w.dumps) > 8 {
		w.dumps = slices.Delete(w.dumps, 0, 1)
	}
}

// meet lets everybody look at Redis again.
func (w *world) meet() {
	if w.unmet {
		w.unmet = false
		w.trace("redis", "is met", "")
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
