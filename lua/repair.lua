-- repair: add what reconciliation found missing, once per repair id, and only if nothing has changed since it
-- looked. Never a SET: a compare on (generation, counter), then an add.
--
-- KEYS  1 stock:{C}   2 mark:{C}:<repair id>
-- ARGV  1 generation   2 counter   3 seconds a marker lives   4.. sku, units, sku, units, …   units signed
--
-- Replies, all with the generation second:
--   200 gen 0       added
--   409 gen 0       added before, under this id
--   400 gen what    no units, or a SKU or number that is none
--   412 gen         the stock has changed since: nothing is added, look again
--   503 ''          not loaded
--
-- Cost: 2 reads + 2 writes, one write more per SKU.

local call, match = redis.call, string.match

local stock = call('HMGET', KEYS[1], '#gen', '#mut')
local gen = stock[1]
if not gen then return {503, ''} end
local mark = call('GET', KEYS[2])
if mark and match(mark, '^[^|]*') == gen then return {409, gen, 0} end
if gen ~= ARGV[1] or stock[2] ~= ARGV[2] then return {412, gen} end

if #ARGV < 5 then return {400, gen, 'units'} end
for i = 4, #ARGV, 2 do
  local sku, units = ARGV[i], ARGV[i + 1]
  if not match(sku, '^%w[%w._-]*$') or not units or not match(units, '^-?%d+$') or #units > 15 then return {400, gen, sku} end
end

for i = 4, #ARGV, 2 do call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
call('HINCRBY', KEYS[1], '#mut', 1)
call('SET', KEYS[2], gen .. '|done|1|0||' .. table.concat(ARGV, ',', 4) .. '|', 'EX', ARGV[3])
return {200, gen, 0}
