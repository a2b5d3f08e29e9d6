-- memtx: reads as of the beginning of a transaction, and commits that find conflicts.

-- The changes of commits, for transactions that began before them and for finding conflicts: of each its
-- space, its key and the tuple that was there before, or false. The newest are kept, in a ring.
local KEPT, KEPT_BYTES = 16384, 8 * 1024 * 1024
local changed_space, changed_key, changed_tuple = {}, {}, {}
-- The number of the oldest one that is kept and of the last one; and the bytes of those tuples.
local first, last, kept_bytes = 1, 0, 0

local function forget()
    local tuple = changed_tuple[first % KEPT]
    if tuple then
        kept_bytes = kept_bytes - tuple:bsize()
    end
    changed_tuple[first % KEPT] = false
    first = first + 1
end

local function note(space, key, tuple)
    if last - first + 1 == KEPT then
        forget()
    end
    last = last + 1
    local at = last % KEPT
    changed_space[at], changed_key[at], changed_tuple[at] = space, key, tuple or false
    if tuple then
        kept_bytes = kept_bytes + tuple:bsize()
        while kept_bytes > KEPT_BYTES and first < last do
            forget()
        end
    end
end

-- Ends all that has begun so far.
local function forget_all()
    note(0, '', nil)
    while first <= last do
        forget()
    end
end

local memtx = {}

-- memtx has no transaction that outlives a request. A transaction is the number of the last change when
-- it began: what was changed since is handed out with what was read, as it was before.
local function begun(snapshot)
    if snapshot < 0 then
        return last
    end
    return snapshot + 1 >= first and snapshot or nil
end

-- What was changed in a space since a transaction began, as it was before.
local function before(snapshot, id)
    local before = {}
    for number = snapshot + 1, last do
        local at = number % KEPT
        if changed_space[at] == id and before[changed_key[at]] == nil then
            before[changed_key[at]] = changed_tuple[at]
        end
    end
    return before
end

function memtx.get(snapshot, id, keys)
    snapshot = begun(snapshot)
    if snapshot == nil then
        return false
    end
    local space, before, found = box.space[id], before(snapshot, id), {}
    for number, key in ipairs(keys) do
        local tuple = before[key]
        if tuple == nil then
            tuple = space:get{key}
        end
        found[number] = tuple or {}
    end
    return snapshot, found
end

function memtx.scan(snapshot, id, from, to, reverse, most)
    snapshot = begun(snapshot)
    if snapshot == nil then
        return false
    end
    local there, count = {}, 0
    for key, tuple in pairs(before(snapshot, id)) do
        if within(key, from, to) then
            count = count + 1
            there[count] = tuple or {key}
        end
    end
    local found, more = scan(id, from, to, reverse, most)
    return snapshot, more, found, there
end

-- Whether nothing that was read has changed since.
local function unchanged(snapshot, reads)
    for number = snapshot + 1, last do
        local at = number % KEPT
        local space, key = changed_space[at], changed_key[at]
        for _, read in ipairs(reads) do
            if read[1] == space and within(key, read[2], read[3]) then
                return false
            end
        end
    end
    return true
end

-- Compares and writes; it yields first when the log is written.
function memtx.commit(snapshot, reads, writes)
    if snapshot >= 0 and (begun(snapshot) == nil or not unchanged(snapshot, reads)) then
        return false
    end
    for _, write in ipairs(writes) do
        note(write[1], write[2], box.space[write[1]]:get{write[2]})
    end
    local applied = false
    local fine, problem = pcall(atomically, function()
        apply(writes)
        applied = true
    end)
    if fine then
        return true
    end
    -- Others see changes when they are made. Where the log could not be written, they may have seen what is
    -- undone now: nothing that has begun before goes on.
    if applied then
        forget_all()
    end
    error(problem)
end

function memtx.finish()
end
