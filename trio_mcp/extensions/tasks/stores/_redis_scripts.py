"""What Redis does with tasks in one go.

A task is a hash: its version, what is written of it, whether it is over, its id, the mark of the
process that works on it, and the name of its owner's sets. An owner, and nobody, has three sorted
sets of names of tasks: by the time at which they expire, by which they are counted; by the order
in which they were made, by which they are listed; and of those that are over, by the time until
which they are awaited, after which they make room for others. The name of the first is that of
all, with something behind it. The times of the first are those of Redis, so that no two clocks
are compared.
"""

from __future__ import annotations

from typing import Final

_TIME: Final = b"""
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
"""

_DROP: Final = b"""
local function drop(ends, task)
  redis.call('ZREM', ends, task)
  redis.call('ZREM', ends .. ':order', task)
  redis.call('ZREM', ends .. ':over', task)
end
"""

# What has expired counts for nobody, and is not listed.
_WITHOUT_EXPIRED: Final = (
    _DROP
    + b"""
local function drop_expired(ends)
  for _, task in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now)) do drop(ends, task) end
end
"""
)

# What has been over for longest makes room, if it is not awaited any more, and else the oldest,
# if Redis itself has dropped it. The task is written first: a Redis that is full refuses no
# script that has written something. A set lives as long as the last of its tasks, and no place in
# the order is taken twice, though the clock be turned back. Gives the id of what was forgotten,
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
drop_expired(ends)
if redis.call('ZCARD', ends) >= tonumber(ARGV[6]) then
  local first = redis.call('ZRANGEBYSCORE', ends .. ':over', '-inf', ARGV[9], 'LIMIT', 0, 1)[1]
  if not first then
    first = redis.call('ZRANGE', order, 0, 0)[1]
    if redis.call('EXISTS', first) == 1 then
      redis.call('DEL', task)
      return nil
    end
  end
  forgotten = redis.call('HGET', first, 'id') or ''
  drop(ends, first)
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
if ARGV[6] ~= '' then
  local ends = redis.call('HGET', KEYS[1], 'owner')
  local over = ends .. ':over'
  redis.call('ZADD', over, ARGV[6], KEYS[1])
  redis.call('PEXPIRE', over, math.max(1, redis.call('PTTL', ends)))
end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
"""

DELETE: Final = (
    _DROP
    + b"""
local ends = redis.call('HGET', KEYS[1], 'owner')
if ends then drop(ends, KEYS[1]) end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
"""
)

# The place to go on from, empty where nothing more comes, and what was read of each task.
LIST: Final = (
    _TIME
    + _WITHOUT_EXPIRED
    + _READ
    + b"""
local ends, order, after, limit = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
drop_expired(ends)
local found = redis.call(
  'ZRANGEBYSCORE', order, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
local page = {''}
for each = 1, math.min(#found, 2 * limit), 2 do
  local written, mark, is_set = read(found[each])
  if written then
    page[#page + 1] = {written, mark, is_set}
  else
    drop(ends, found[each])
  end
end
if #found > 2 * limit then page[1] = string.format('%.0f', found[2 * limit]) end
return page
"""
)
