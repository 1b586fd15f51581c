-- adjust: add a fact's units to sellable stock, once per fact id. A fact happened: it is never refused for
-- being short, sellable may go below 0, and a SKU that is not here yet is created.
--
-- KEYS  1 stock:{C}   2 mark:{C}:<fact id>
-- ARGV  1 seconds a marker lives   2.. sku, units, sku, units, …   units signed
--
-- Replies, all with the generation second:
--   200 gen ticket          applied
--   409 gen ticket          applied before; the ticket is the first one, 0 when a rebuild counted the fact
--   400 gen what            no units, or a SKU or number that is none
--   422 gen                 the id is an order's
--   503 ''                  not loaded
--
-- Cost: 2 reads + 3 writes, one write more per SKU.

local call, match = redis.call, string.match

local gen = call('HGET', KEYS[1], '#gen')
if not gen then return {503, ''} end

local mark = call('GET', KEYS[2])
if mark then
  local mgen, state, ticket = match(mark, '^([^|]*)|(%a+)|%d+|(%d+)|')
  if mgen == gen then -- a marker of another generation counts as absent
    if state ~= 'done' then return {422, gen} end
    return {409, gen, tonumber(ticket)}
  end
end

if #ARGV < 3 then return {400, gen, 'units'} end
for i = 2, #ARGV, 2 do
  local sku, units = ARGV[i], ARGV[i + 1]
  if not match(sku, '^%w[%w._-]*$') or not units or not match(units, '^-?%d+$') or #units > 15 then return {400, gen, sku} end
end

for i = 2, #ARGV, 2 do call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
local ticket = call('HINCRBY', KEYS[1], '#ticket', 1)
call('HINCRBY', KEYS[1], '#mut', 1)
call('SET', KEYS[2], gen .. '|done|1|' .. string.format('%d', ticket) .. '||' .. table.concat(ARGV, ',', 2) .. '|', 'EX', ARGV[1])
return {200, gen, ticket}
