-- load_stock: stage a chunk of SKUs.
--
-- KEYS  1 stock:{C}
-- ARGV  1 this load's token   2 generation   3.. sku, units, sku, units, …   at most 500 pairs
--
-- Replies:
--   200 gen         staged
--   400 gen what    a SKU or number that is none
--   412 gen         another load has begun, or this one is over
--
-- Cost: 1 read + 1 write, about 0.5 µs a SKU.

local gen = ARGV[2]
if redis.call('HGET', KEYS[1], '#load') ~= ARGV[1] then return {412, gen} end
for i = 3, #ARGV, 2 do
  local sku, units = ARGV[i], ARGV[i + 1]
  if not string.match(sku, '^%w[%w._-]*$') or not string.match(units, '^-?%d+$') or #units > 15 then return {400, gen, sku} end
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {200, gen}
