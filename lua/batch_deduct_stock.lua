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
--   400 gen what                        empty basket, or a version or quantity that is no integer in bounds
--   404 gen sku                         not sold here
--   410 gen sku want have, …            short: every short SKU
--   422 gen                             this id came with another basket or user; the first stands
--   429 gen sku limit used              over the shopper's limit
--   503 ''                              not loaded
-- A refusal changes nothing and leaves no marker: Lua has no rollback, so all checks come before all writes.
--
-- The marker comes first of all: a retry of the order that took the last unit must hear its original yes.
-- Cost: 2 reads + 3 writes whatever the basket; with a limit 1 read + 1 or 3 writes more.

local call, match, int = redis.call, string.match, string.format
local id, version, user, now, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local limited = KEYS[4] ~= nil
local pairs_end = limited and 5 + (#ARGV - 5) / 3 * 2 or #ARGV

local ask = {'#gen', '#mut', '#ticket'}
for i = 6, pairs_end, 2 do ask[#ask + 1] = ARGV[i] end
local have = call('HMGET', KEYS[1], unpack(ask))
local gen = have[1]
if not gen then return {503, ''} end
local mut = int('%d', (have[2] or 0) + 1)

if not match(version, '^[1-9]%d*$') or #version > 15 then return {400, gen, 'version'} end
local basket = table.concat(ARGV, ',', 6, pairs_end)

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

-- Validate. The same SKU twice is one SKU with the sum: two lines of 2 against a stock of 3 are short.
if pairs_end < 7 then return {400, gen, 'basket'} end
local skus, want, left, limits = {}, {}, {}, {}
for i = 6, pairs_end, 2 do
  local sku, qty = ARGV[i], ARGV[i + 1]
  if not match(qty, '^[1-9]%d?%d?$') then return {400, gen, sku} end
  if not want[sku] then
    skus[#skus + 1], want[sku], left[sku] = sku, 0, have[(i - 6) / 2 + 4]
    if limited then limits[sku] = tonumber(ARGV[pairs_end + (i - 6) / 2 + 1]) end
  end
  want[sku] = want[sku] + tonumber(qty)
end
local short = {410, gen}
for _, sku in ipairs(skus) do
  if not left[sku] or string.byte(sku) == 35 then return {404, gen, sku} end -- '#': our own fields
  left[sku] = left[sku] - want[sku]
  if left[sku] < 0 then
    local n = #short
    short[n + 1], short[n + 2], short[n + 3] = sku, want[sku], left[sku] + want[sku]
  end
end
if #short > 2 then return short end

-- A basket with any limited SKU counts as a whole, so that giving it back needs no memory of which SKUs were
-- limited. The window stamp names the 24 hours it was counted in: units are never given back to another window.
local window, counted, fresh = '', nil, false
if limited then
  counted = call('HMGET', KEYS[4], '#gen', '#since', unpack(skus))
  fresh = counted[1] ~= gen
  window = fresh and now or counted[2]
  for i, sku in ipairs(skus) do
    local used = not fresh and tonumber(counted[i + 2] or 0) or 0
    if limits[sku] > 0 and used + want[sku] > limits[sku] then return {429, gen, sku, limits[sku], used} end
    counted[i + 2] = used + want[sku]
  end
end

-- Write.
local ticket = (have[3] or 0) + 1
local set = {'#mut', mut, '#ticket', int('%d', ticket)}
for _, sku in ipairs(skus) do
  local n = #set
  set[n + 1], set[n + 2] = sku, int('%d', left[sku])
end
call('HSET', KEYS[1], unpack(set))
call('SET', KEYS[2], gen .. '|held|' .. version .. '|' .. int('%d', ticket) .. '|' .. window .. '|' .. basket .. '|' .. user, 'EX', ttl)
call('HSET', KEYS[3], id, version .. ':' .. now)
if limited then
  local count = {}
  if fresh then
    call('DEL', KEYS[4])
    count = {'#gen', gen, '#since', window}
  end
  for i, sku in ipairs(skus) do
    local n = #count
    count[n + 1], count[n + 2] = sku, int('%d', counted[i + 2])
  end
  call('HSET', KEYS[4], unpack(count))
  if fresh then call('EXPIRE', KEYS[4], 86400) end
end
return {200, gen, ticket}
