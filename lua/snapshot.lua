-- snapshot: one cabinet's stock and the ids held but not yet known to the deduct log, at one instant. Reads only.
--
-- KEYS  1 stock:{C}   2 resv:{C}
-- ARGV  none
--
-- Replies, both with the generation second:
--   200 gen mut fields resv     fields: sku, units, … with our own '#…' fields among them
--                               resv: id, "<version>:<Unix ms>", …
--   503 ''                      not loaded; a frozen one is read
--
-- Cost: 2 reads that copy both hashes, about 1 ms per 5,000 fields.

local stock = redis.call('HMGET', KEYS[1], '#gen', '#mut', '#frozen')
local gen = stock[1] or stock[3]
if not gen then return {503, ''} end
return {200, gen, stock[2], redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2])}
