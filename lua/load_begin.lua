-- load_begin: fence the cabinet and claim its load. From here to load_commit the stock has no generation, so
-- every other script answers 503; a load that dies in between leaves it so.
--
-- KEYS  1 stock:{C}   2 resv:{C}
-- ARGV  1 this load's own token   2 generation to load   3 now, Unix ms
--
-- Replies:
--   200 gen     begun; whoever was loading before has lost, and each of its later scripts will say 412
--   409 gen     this generation is loaded already: a generation is loaded once, else its tickets repeat
--
-- The counter rises across loads, and starts from the clock when there is none to carry on.
-- Cost: 1 read + 3 writes; resv is freed in the background.

local call = redis.call

local old = call('HMGET', KEYS[1], '#gen', '#mut')
if old[1] == ARGV[2] then return {409, ARGV[2]} end
local mut = old[2] and string.format('%d', old[2] + 1) or ARGV[3]
call('UNLINK', KEYS[1], KEYS[2])
call('HSET', KEYS[1], '#load', ARGV[1], '#mut', mut)
return {200, ARGV[2]}
