-- batch_deduct_stock: take a whole basket, all SKUs or none, once per id and version.
--
-- KEYS  1 stock:{C}   2 mark:{C}:<id>   3 resv:{C}
--       4 limit:{C}:<user>, given only when some SKU of the basket has a purchase limit
-- ARGV  1 id   2 version   3 user   4 now, Unix ms   5 seconds a marker lives
--       6.. sku, qty, sku, qty, …   then, only with KEYS[4], one limit per pair (0 is none)
--
-- Replies, all with the generation second:
--   200 gen ticket                      taken now, or held already under an older version (takes nothing then)
--   409 gen ticket state version        this version or a newer one was here; the ticket is the first one
--   400 gen what                        empty basket, a SKU given twice (lines are merged before, else each would pass
--                                       alone), or a version or quantity that is no integer in bounds
--   404 gen sku                         not sold here
--   410 gen sku want have, …            short: every short SKU
--   422 gen                             this id came with another basket or user; the first stands
--   429 gen sku limit used              over the shopper's limit
--   503 ''                              not loaded
-- A refusal changes nothing and leaves no marker: Lua has no rollback, so all checks come before all writes.
--
-- The marker comes first of all: a retry of the order that took the last unit must hear its original yes.
-- Cost: 2 reads + 3 writes whatever the basket; with a limit 1 read + 1 or 3 writes more. Numbers become text
-- by '%d' here: plain digits always, and three times as fast as leaving it to redis.call.

local call, match, int = redis.call, string.match, string.format
local ARGV, KEYS = ARGV, KEYS
local id, version, user, now, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local limited = KEYS[4] ~= nil
local last = limited and 5 + (#ARGV - 5) / 3 * 2 or #ARGV -- of the pairs

local ask = {'#gen', '#mut', '#ticket'}
for i = 6, last, 2 do ask[i / 2 + 1] = ARGV[i] end
local have = call('HMGET', KEYS[1], unpack(ask))
local gen = have[1]
if not gen then return {503, ''} end
local mut = int('%d', (have[2] or 0) + 1)

if #version > 15 or not match(version, '^[1-9]%d*$') then return {400, gen, 'version'} end
local basket = table.concat(ARGV, ',', 6, last)

local mark = call('GET', KEYS[2])
if mark then
  local mgen, state, mversion, mticket, window, mbasket, muser = match(mark, '^([^|]*)|(%a+)|(%d+)|(%d+)|(%d*)|([^|]*)|(.*)$')
  if mgen == gen then -- a marker of another generation counts as absent
    if state == 'done' or mbasket ~= basket or muser ~= user then return {422, gen} end
    if tonumber(mversion) >= tonumber(version) then return {409, gen, tonumber(mticket), state, mversion} end
    if state == 'held' then -- a retry overtook its rollback: the units are here already
      call('HSET', KEYS[1], '#mut', mut)
      call('SET', KEYS[2], gen .. '|held|' .. version .. '|' .. mticket .. '|' .. window .. '|' .. basket .. '|' .. user, 'EX', ttl)
      call('HSET', KEYS[3], id, version .. ':' .. now)
      return {200, gen, tonumber(mticket)}
    end
  end
end

-- Validate, and note in `set` what will be left.
if last < 7 then return {400, gen, 'basket'} end
local ticket = (have[3] or 0) + 1
local set, unknown, short = {'#mut', mut, '#ticket', int('%d', ticket)}, nil, nil
for i = 6, last, 2 do
  local sku, qty, units = ARGV[i], ARGV[i + 1], have[i / 2 + 1]
  if not qty or not match(qty, '^[1-9]%d?%d?$') then return {400, gen, sku} end
  for j = 6, i - 2, 2 do
    if ARGV[j] == sku then return {400, gen, sku} end
  end
  if not units or string.byte(sku) == 35 then -- '#': our own fields
    unknown = unknown or sku
  else
    local left = units - qty
    set[i - 1], set[i] = sku, int('%d', left)
    if left < 0 then
      short = short or {410, gen}
      short[#short + 1], short[#short + 2], short[#short + 3] = sku, tonumber(qty), tonumber(units)
    end
  end
end
if unknown then return {404, gen, unknown} end
if short then return short end

-- A basket with any limited SKU counts as a whole, so that giving it back needs no memory of which SKUs were
-- limited. The window stamp names the 24 hours it was counted in: units are never given back to another window.
local window, count, fresh = '', nil, false
if limited then
  local used = call('HMGET', KEYS[4], '#gen', '#since', unpack(ask, 4))
  fresh = used[1] ~= gen
  window = fresh and now or used[2]
  count = {'#gen', gen, '#since', window}
  for i = 6, last, 2 do
    local sku, limit = ARGV[i], tonumber(ARGV[last + i / 2 - 2])
    local before = not fresh and tonumber(used[i / 2] or 0) or 0
    local after = before + ARGV[i + 1]
    if limit > 0 and after > limit then return {429, gen, sku, limit, before} end
    count[i - 1], count[i] = sku, int('%d', after)
  end
end

-- Write.
call('HSET', KEYS[1], unpack(set))
call('SET', KEYS[2], gen .. '|held|' .. version .. '|' .. int('%d', ticket) .. '|' .. window .. '|' .. basket .. '|' .. user, 'EX', ttl)
call('HSET', KEYS[3], id, version .. ':' .. now)
if limited then
  if fresh then call('DEL', KEYS[4]) end
  call('HSET', KEYS[4], unpack(count))
  if fresh then call('EXPIRE', KEYS[4], 86400) end
end
return {200, gen, ticket}
