-- load_limits: rebuild a chunk of purchase limits under the generation being loaded.
--
-- KEYS  1 stock:{C}   2.. limit:{C}:<user>   at most 250
-- ARGV  1 this load's token   2 generation
--       then per user: start of the 24 hours (Unix ms), seconds left of them, number of SKUs, sku, units, …
--
-- Replies:
--   200 gen     written
--   412 gen     another load has begun, or this one is over
--
-- Cost: 1 read, and 3 writes a user: under 1 ms a chunk.

local call = redis.call
local gen = ARGV[2]
if call('HGET', KEYS[1], '#load') ~= ARGV[1] then return {412, gen} end
local at = 3
for i = 2, #KEYS do
  local last = at + 2 + 2 * ARGV[at + 2]
  call('DEL', KEYS[i])
  call('HSET', KEYS[i], '#gen', gen, '#since', ARGV[at], unpack(ARGV, at + 3, last))
  call('EXPIRE', KEYS[i], ARGV[at + 1])
  at = last + 1
end
return {200, gen}
