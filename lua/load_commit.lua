-- load_commit: the last step of a load, sent when every chunk has answered 200. The generation appears, and
-- with it everything staged: stock, markers, resv, limits.
--
-- KEYS  1 stock:{C}
-- ARGV  1 this load's token   2 generation
--
-- Replies:
--   200 gen     loaded; tickets start again from 1
--   412 gen     another load has begun, or this one is over
--
-- Cost: 1 read + 2 writes.

if redis.call('HGET', KEYS[1], '#load') ~= ARGV[1] then return {412, ARGV[2]} end
redis.call('HDEL', KEYS[1], '#load')
redis.call('HSET', KEYS[1], '#gen', ARGV[2], '#ticket', '0')
return {200, ARGV[2]}
