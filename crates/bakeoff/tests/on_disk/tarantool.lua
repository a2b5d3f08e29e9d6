-- What the tests call. Rows that are returned are strings.
local digest = require('digest')
local fio = require('fio')

-- Tries again what another transaction got in the way of.
local function atomically(work)
    while true do
        box.begin()
        local ok, problem = pcall(work)
        if ok then
            ok, problem = pcall(box.commit)
        end
        if ok then
            return
        end
        box.rollback()
        if box.error.TRANSACTION_CONFLICT ~= problem.code then
            error(problem)
        end
    end
end

function load(engine, rows, balance)
    -- Tarantool names its first snapshot and never syncs the folder that the name is in.
    local folder = fio.open(box.cfg.memtx_dir, {'O_RDONLY'})
    folder:fsync()
    folder:close()
    local account = box.schema.space.create('account', {engine = engine})
    account:create_index('primary', {parts = {1, 'unsigned'}})
    account:create_index('branch', {parts = {2, 'unsigned'}, unique = false})
    local notes = box.schema.space.create('done', {engine = engine})
    notes:create_index('primary', {parts = {1, 'unsigned', 2, 'unsigned'}})
    for first = 1, rows, 1000 do
        atomically(function()
            for id = first, math.min(first + 999, rows) do
                account:replace({id, id % 97, balance, digest.md5_hex(tostring(id)):rep(6)})
            end
        end)
    end
end

function transfer(client, n, from, to)
    atomically(function()
        local account = box.space.account
        local branch = account:get(to)[2]
        account:update(from, {{'-', 3, 1}})
        account:update(to, {{'+', 3, 1}, {'=', 2, (branch + 1) % 97}})
        box.space.done:insert({client, n})
    end)
end

function books()
    local count, sum = 0, 0
    for _, row in box.space.account:pairs() do
        count, sum = count + 1, sum + row[3]
    end
    return count .. '\t' .. tostring(sum):gsub('[UL]+$', '')
end

function indexed()
    local count = 0
    for _ in box.space.account.index.branch:pairs() do
        count = count + 1
    end
    return tostring(count)
end

function done()
    local rows, by = {}, {}
    for _, row in box.space.done:pairs() do
        local client, n = row[1], row[2]
        if by[client] == nil then
            by[client] = {client, 0, 0}
            table.insert(rows, by[client])
        end
        by[client][2] = by[client][2] + 1
        by[client][3] = math.max(by[client][3], n)
    end
    for n, row in ipairs(rows) do
        rows[n] = table.concat(row, '\t')
    end
    return unpack(rows)
end

function content()
    local sum = digest.crc32.new()
    for _, space in ipairs({'account', 'done'}) do
        for _, row in box.space[space]:pairs() do
            for _, field in row:pairs() do
                sum:update(tostring(field) .. ',')
            end
        end
    end
    return tostring(sum:result())
end

-- Rows that are not the same by both indexes.
function differences()
    local account, count = box.space.account, 0
    for _, row in account.index.branch:pairs() do
        local other = account:get(row[1])
        if other == nil or other[2] ~= row[2] or other[3] ~= row[3] or other[4] ~= row[4] then
            count = count + 1
        end
    end
    return tostring(count)
end

local socket, data = arg[1], arg[2]
box.cfg({
    listen = 'unix/:' .. socket,
    wal_mode = 'fsync',
    wal_dir = data,
    memtx_dir = data,
    vinyl_dir = data,
    -- Little, so that it writes runs.
    vinyl_memory = 4 * 1024 * 1024,
})
box.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})
