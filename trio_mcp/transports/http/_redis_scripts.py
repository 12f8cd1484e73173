"""What Redis does for an event store in one step, and what lies there."""

from __future__ import annotations

import hashlib
from typing import Final

# A hash for each session: by the key of each of its streams, when that was written, as a
# number that rises, and how many bytes it takes; by '#' the last number, by '' the bytes of all.
#
# A stream of Redis for each stream, whose entries are
#   s  the stream's id, which its name does not tell
#   m  the message; empty if there is nothing to replay
#   b  how many bytes came before it, those that were pushed out included
#   x  1 if it was too large, so that nothing before it can be resumed
#   n  which call has kept it
#
# Nobody may have heard whether the call before has kept its message. If it was sent without
# being kept, what came before it is no use any more: a client that went on from there would
# miss it. If it was not sent, it comes again, and is not to be kept twice.
STORE: Final = b"""
local key, session = KEYS[1], KEYS[2]
local stream, message, too_large, call = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local most, most_bytes, ttl = ARGV[5], tonumber(ARGV[6]), ARGV[7]
local doubt, doubted = ARGV[8], ARGV[9]
local most_streams, most_of_all = tonumber(ARGV[10]), tonumber(ARGV[11])
local function size(text) return 100 + #text end
local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
if last and doubt ~= '' then
  local is_kept = last[2][10] == doubted
  if is_kept and doubt == 'again' and last[2][4] == message then return last[1] end
  if not is_kept and doubt == 'failed' then
    -- Not deleted, or it would give the same ids again.
    redis.call('XTRIM', key, 'MAXLEN', 0)
    last = nil
  end
end
local before = 0
if last then before = tonumber(last[2][6]) + size(last[2][4]) end
local id = redis.call('XADD', key, 'MAXLEN', most, '*', 's', stream, 'm', message,
  'b', string.format('%.0f', before), 'x', too_large, 'n', call)
local after = before + size(message)
local kept
while true do
  local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  kept = after - tonumber(first[2][6])
  if first[1] == id or kept <= most_bytes then break end
  redis.call('XDEL', key, first[1])
end
redis.call('PEXPIRE', key, ttl)
local function read(value)
  local number, bytes = string.match(value or '0 0', '(%d+) (%d+)')
  return tonumber(number), tonumber(bytes)
end
local _, known = read(redis.call('HGET', session, key))
local all = redis.call('HINCRBY', session, '', string.format('%.0f', kept - known))
local number = redis.call('HINCRBY', session, '#', 1)
redis.call('HSET', session, key, string.format('%.0f %.0f', number, kept))
redis.call('PEXPIRE', session, ttl)
if all <= most_of_all and redis.call('HLEN', session) - 2 <= most_streams then return id end
-- Those written longest ago go, and some more than have to, so that this is done seldom.
local others, pairs = {}, redis.call('HGETALL', session)
for place = 1, #pairs, 2 do
  local name = pairs[place]
  if name ~= '' and name ~= '#' and name ~= key then
    local number, bytes = read(pairs[place + 1])
    others[#others + 1] = {name, number, bytes}
  end
end
table.sort(others, function(one, other) return one[2] < other[2] end)
local left = #others + 1
for _, each in ipairs(others) do
  if all <= most_of_all * 7 / 8 and left <= math.max(1, most_streams * 7 / 8) then break end
  redis.call('DEL', each[1])
  redis.call('HDEL', session, each[1])
  all, left = all - each[3], left - 1
end
redis.call('HSET', session, '', string.format('%.0f', all))
return id
"""

END: Final = b"""
for _, each in ipairs(redis.call('HKEYS', KEYS[1])) do
  if each ~= '' and each ~= '#' then redis.call('DEL', each) end
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], '', 'PX', ARGV[1])
return 1
"""


def _sha_of(script: bytes) -> str:
    return hashlib.sha1(script, usedforsecurity=False).hexdigest()


SHAS: Final = {each: _sha_of(each) for each in (STORE, END)}
