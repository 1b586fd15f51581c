-- thaw: end a freeze.
--
-- KEYS  1 stock:{C}
-- ARGV  1 the freezer's token
--
-- Replies:
--   200 gen     thawed
--   412 ''      not frozen by this token: it was loaded meanwhile
--
-- Cost: 1 read + 2 writes.

local stock = redis.call('HMGET', KEYS[1], '#frozen', '#freezer')
if not stock[1] or stock[2] ~= ARGV[1] then return {412, ''} end
redis.call('HDEL', KEYS[1], '#frozen', '#freezer')
redis.call('HSET', KEYS[1], '#gen', stock[1])
return {200, stock[1]}
