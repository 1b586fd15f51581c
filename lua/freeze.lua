-- freeze: keep a cabinet's stock as it is until thaw, or a load. Every script that answers or changes says 503
-- meanwhile; snapshot and marks go on reading.
--
-- KEYS  1 stock:{C}   2 resv:{C}
-- ARGV  1 the freezer's token
--
-- Replies, both with the generation second:
--   200 gen mut fields resv     as snapshot
--   503 ''                      not loaded, or frozen by somebody else
--
-- Cost: 2 reads that copy both hashes, and 2 writes.

local call = redis.call

local stock = call('HMGET', KEYS[1], '#gen', '#mut')
if not stock[1] then return {503, ''} end
call('HDEL', KEYS[1], '#gen')
call('HSET', KEYS[1], '#frozen', stock[1], '#freezer', ARGV[1])
return {200, stock[1], stock[2], call('HGETALL', KEYS[1]), call('HGETALL', KEYS[2])}
