-- What the functions of both storages do with spaces: a space has a key and a value in each tuple.
local fiber = require('fiber')

-- What a range is cut off at: a session asks on from there.
local MOST_BYTES = 1024 * 1024

local function within(key, from, to)
    return key >= from and (to == '' or key < to)
end

-- The tuples of a range in order, and whether there may be more.
local function scan(id, from, to, reverse, most)
    local index = box.space[id].index[0]
    local found, count, bytes = {}, 0, 0
    local key, iterator = {from}, 'GE'
    if reverse then
        key, iterator = {to}, 'LT'
        if to == '' then
            key, iterator = {}, 'LE'
        end
    end
    for _, tuple in index:pairs(key, {iterator = iterator}) do
        if not within(tuple[1], from, to) then
            return found, false
        end
        count, bytes = count + 1, bytes + tuple:bsize()
        found[count] = tuple
        if count == most or bytes > MOST_BYTES then
            return found, true
        end
    end
    return found, false
end

local function apply(writes)
    for _, write in ipairs(writes) do
        local id, key, value = write[1], write[2], write[3]
        if value == nil then
            box.space[id]:delete{key}
        else
            box.space[id]:replace{key, value}
        end
    end
end

-- Work in a transaction of its own; nothing of it is left when it fails.
local function atomically(work, ...)
    box.begin()
    local fine, problem = pcall(work, ...)
    if fine then
        fine, problem = pcall(box.commit)
    end
    if not fine then
        box.rollback()
        error(problem)
    end
end
