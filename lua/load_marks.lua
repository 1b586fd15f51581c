-- load_marks: write a chunk of markers under the generation being loaded. Until that generation is committed
-- they count as absent; if it never is, for ever.
--
-- KEYS  1 stock:{C}   2 resv:{C}   3.. mark:{C}:<id>   at most 250
-- ARGV  1 this load's token   2 generation   3 seconds a marker lives
--       then per marker: id, marker text, resv entry ('' when the deduct log knows it)
--
-- Replies:
--   200 gen     written
--   412 gen     another load has begun, or this one is over
--
-- Cost: 1 read, and 1 or 2 writes a marker: under 1 ms a chunk.

local call = redis.call
local gen, ttl = ARGV[2], ARGV[3]
if call('HGET', KEYS[1], '#load') ~= ARGV[1] then return {412, gen} end
for i = 3, #KEYS do
  local at = 4 + (i - 3) * 3
  call('SET', KEYS[i], ARGV[at + 1], 'EX', ttl)
  if ARGV[at + 2] ~= '' then call('HSET', KEYS[2], ARGV[at], ARGV[at + 2]) end
end
return {200, gen}
