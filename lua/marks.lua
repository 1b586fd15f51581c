-- marks: the markers of some ids, as of one instant. Reads only; the other half of a snapshot, in chunks so that
-- a long list never holds Redis up. Two answers belong together if their generation and counter are equal.
--
-- KEYS  1 stock:{C}   2.. mark:{C}:<id>   at most 500
-- ARGV  none
--
-- Replies, both with the generation second:
--   200 gen mut marker, …     one per key, '' where there is none of this generation
--   503 ''                    not loaded; a frozen one is read
--
-- Cost: 2 reads, about 0.5 µs a key.

local stock = redis.call('HMGET', KEYS[1], '#gen', '#mut', '#frozen')
local gen = stock[1] or stock[3]
if not gen then return {503, ''} end
local reply = {200, gen, stock[2]}
if #KEYS == 1 then return reply end
for i, mark in ipairs(redis.call('MGET', unpack(KEYS, 2))) do
  reply[i + 3] = mark and string.match(mark, '^[^|]*') == gen and mark or ''
end
return reply
