"""What Redis does with tasks in one go.

A task is a hash: its version, what is written of it, until when it is awaited if it is over (empty
before), its id, the mark of the process that works on it, and the name of its owner's set. An
owner, and nobody, has two sorted sets of names of tasks: one by the time at which they expire, by
which they are counted, and one by the order in which they were made, by which they are listed; its
name is that of the first with ``:order`` behind it. The times in the sets are those of Redis, so
that no two clocks are compared.
"""

from __future__ import annotations

from typing import Final

_TIME: Final = b"""
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
"""

# What has expired counts for nobody, and is not listed.
_WITHOUT_EXPIRED: Final = b"""
local function drop_expired(ends, order)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now)) do
    redis.call('ZREM', order, name)
  end
  redis.call('ZREMRANGEBYSCORE', ends, '-inf', now)
end
"""

# What has been over for longest makes room, if it is not awaited any more, and what is not there,
# though its set says so, before that. The task is written first: a Redis that is full refuses
# no script that has written something. A set lives as long as the last of its tasks, and no place
# in the order is taken twice, though the clock be turned back. Gives the id of what was forgotten,
# or an empty one; nothing if there was no room.
CREATE: Final = (
    _TIME
    + _WITHOUT_EXPIRED
    + b"""
local task, ends, order = KEYS[1], KEYS[2], KEYS[3]
local version, written, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local forgotten = ''
redis.call('HSET', task, 'version', version, 'task', written, 'over', ARGV[7],
  'id', ARGV[5], 'mark', ARGV[8], 'owner', ends)
drop_expired(ends, order)
if redis.call('ZCARD', ends) >= tonumber(ARGV[6]) then
  local first, since = nil, nil
  for _, name in ipairs(redis.call('ZRANGE', order, 0, -1)) do
    local over = tonumber(redis.call('HGET', name, 'over') or 0)
    if over and (not since or over < since) then first, since = name, over end
  end
  if not first or since > tonumber(ARGV[9]) then
    redis.call('DEL', task)
    return nil
  end
  forgotten = redis.call('HGET', first, 'id') or ''
  redis.call('ZREM', ends, first)
  redis.call('ZREM', order, first)
  redis.call('DEL', first)
  if forgotten ~= '' then redis.call('PUBLISH', ARGV[4], forgotten) end
end
local last = redis.call('ZREVRANGE', order, 0, 0, 'WITHSCORES')[2]
local place = math.max(micros, (tonumber(last) or 0) + 1)
redis.call('ZADD', ends, string.format('%.0f', now + ttl), task)
redis.call('ZADD', order, string.format('%.0f', place), task)
for _, set in ipairs({ends, order}) do
  if redis.call('PTTL', set) < ttl then redis.call('PEXPIRE', set, ttl) end
end
redis.call('PEXPIRE', task, ttl)
redis.call('PUBLISH', ARGV[4], ARGV[5])
return forgotten
"""
)

# What is written of a task, the mark on which it depends until it is over, and whether that is
# set.
_READ: Final = b"""
local function read(task)
  local found = redis.call('HMGET', task, 'task', 'over', 'mark')
  local mark = found[2] == '' and found[3] or ''
  return found[1], mark, mark == '' and 0 or redis.call('EXISTS', mark)
end
"""

GET: Final = (
    _READ
    + b"""
return {read(KEYS[1])}
"""
)

# With a second key only if that is not there: it is the mark of a process that is gone.
REPLACE: Final = b"""
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'task', ARGV[3], 'over', ARGV[6])
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
"""

DELETE: Final = b"""
local ends = redis.call('HGET', KEYS[1], 'owner')
if ends then
  redis.call('ZREM', ends, KEYS[1])
  redis.call('ZREM', ends .. ':order', KEYS[1])
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
"""

# The place to go on from, empty where nothing more comes, and what was read of each task.
LIST: Final = (
    _TIME
    + _WITHOUT_EXPIRED
    + _READ
    + b"""
local ends, order, after, limit = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
drop_expired(ends, order)
local found = redis.call(
  'ZRANGEBYSCORE', order, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
local page = {''}
for each = 1, math.min(#found, 2 * limit), 2 do
  local written, mark, is_set = read(found[each])
  if written then
    page[#page + 1] = {written, mark, is_set}
  else
    redis.call('ZREM', ends, found[each])
    redis.call('ZREM', order, found[each])
  end
end
if #found > 2 * limit then page[1] = string.format('%.0f', found[2 * limit]) end
return page
"""
)
