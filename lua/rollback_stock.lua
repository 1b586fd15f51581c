-- rollback_stock: an order's hold stands released at a version. It states, it does not command: the units go
-- back only if the marker says held, and an older or equal version is ignored.
--
-- KEYS  1 stock:{C}   2 mark:{C}:<id>   3 resv:{C}   4 limit:{C}:<user>, given when the order has a user
-- ARGV  1 id   2 version   3 seconds a marker lives   4 user   5.. sku, qty, sku, qty, …
--
-- Replies, all with the generation second:
--   200 gen 0                       released; units went back if they were held
--   409 gen 0 state version         this version or a newer one was here: nothing changes
--   400 gen what                    a version that is no integer in bounds
--   422 gen                         the id is a fact's
--   503 ''                          not loaded
-- With no marker a released one is left and nothing is added: the late deduct it overtook then takes nothing.
-- What goes back is what the marker says was taken, not what the caller says.
--
-- Cost: 2 reads + 3 writes, one write more per SKU given back; with a limit 1 read and one write per SKU more.

local call, match = redis.call, string.match
local id, version, ttl, user = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local gen = call('HGET', KEYS[1], '#gen')
if not gen then return {503, ''} end
if not match(version, '^[1-9]%d*$') or #version > 15 then return {400, gen, 'version'} end

local mark = call('GET', KEYS[2])
if mark then
  local mgen, state, mversion, _, window, mbasket, muser = match(mark, '^([^|]*)|(%a+)|(%d+)|(%d+)|(%d*)|([^|]*)|(.*)$')
  if mgen == gen then -- a marker of another generation counts as absent
    if state == 'done' then return {422, gen} end
    if tonumber(mversion) >= tonumber(version) then return {409, gen, 0, state, mversion} end
    if state == 'held' then
      local back = false -- the limit, if it was counted and its 24 hours still run
      if window ~= '' and KEYS[4] and muser == user then
        local counted = call('HMGET', KEYS[4], '#gen', '#since')
        back = counted[1] == gen and counted[2] == window
      end
      for sku, qty in string.gmatch(mbasket, '([^,]+),(%d+)') do
        call('HINCRBY', KEYS[1], sku, qty)
        if back then call('HINCRBY', KEYS[4], sku, '-' .. qty) end
      end
    end
  end
end

call('HINCRBY', KEYS[1], '#mut', 1)
call('SET', KEYS[2], gen .. '|released|' .. version .. '|0||' .. table.concat(ARGV, ',', 5) .. '|' .. user, 'EX', ttl)
call('HDEL', KEYS[3], id)
return {200, gen, 0}
