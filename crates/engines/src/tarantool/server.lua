-- What a private server runs beside the functions of its storage: its configuration, and what is called for
-- loads and for figures. The words after the program are what to do (initialise, serve or try), the folder of
-- the data, the socket, the storage, and settings.

-- Makes the spaces of these names where they are not there; their numbers.
function bakeoff_open(engine, names)
    local ids = {}
    for number, name in ipairs(names) do
        local space = box.space[name]
        if space == nil then
            space = box.schema.space.create(name, {engine = engine})
            space:create_index('key', {parts = {{1, 'string'}}})
        end
        ids[number] = space.id
    end
    return ids
end

function bakeoff_empty(id)
    box.space[id]:truncate()
end

function bakeoff_load(id, tuples)
    local space = box.space[id]
    atomically(function()
        for _, tuple in ipairs(tuples) do
            space:replace(tuple)
        end
    end)
end

-- Writes all that is in memory alone, and waits until nothing is left to merge.
function bakeoff_drain()
    while true do
        local fine, problem = pcall(box.snapshot)
        if fine then
            break
        end
        if type(problem) ~= 'cdata' or problem.code ~= box.error.CHECKPOINT_IN_PROGRESS then
            error(problem)
        end
        fiber.sleep(0.01)
    end
    local scheduler
    repeat
        fiber.sleep(0.01)
        scheduler = box.stat.vinyl().scheduler
    until scheduler.tasks_inprogress == 0 and scheduler.compaction_queue == 0
end

function bakeoff_counters()
    local stat, vinyl = box.stat(), box.stat.vinyl()
    return {
        box.info.lsn, stat.CALL.total, stat.SELECT.total, stat.REPLACE.total, stat.DELETE.total,
        vinyl.tx.conflict, vinyl.scheduler.dump_count, vinyl.scheduler.dump_output,
        vinyl.scheduler.compaction_output, vinyl.regulator.blocked_writers or 0,
    }
end

function bakeoff_debt()
    local stat = box.stat.vinyl()
    local scheduler = stat.scheduler
    return {
        stat.memory.level0, stat.regulator.dump_watermark, scheduler.compaction_queue,
        scheduler.dump_count, scheduler.compaction_output,
    }
end

-- The settings among the words, and whether a snapshot is to be taken at the start.
local function settings(from)
    local settings = {}
    for number = from, #arg do
        local name, value = arg[number]:match('^([^=]*)=(.*)$')
        if value == 'true' or value == 'false' then
            value = value == 'true'
        end
        settings[name] = tonumber(value) or value
    end
    local snapshot = settings.snapshot_at_start == 'yes'
    settings.snapshot_at_start = nil
    -- Nobody else is to hear of this server.
    settings.feedback_enabled = false
    return settings, snapshot
end

local function configure(data, settings)
    for _, folder in ipairs({'wal_dir', 'memtx_dir', 'vinyl_dir'}) do
        settings[folder] = data
    end
    box.cfg(settings)
end

local tasks = {}

function tasks.initialise(data)
    configure(data, (settings(3)))
    -- The folder of the socket is what keeps others away.
    box.schema.user.create('bakeoff', {password = 'bakeoff'})
    box.schema.user.grant('bakeoff', 'super')
    box.snapshot()
    os.exit(0)
end

function tasks.serve(data, socket)
    local functions = arg[4] == 'vinyl' and vinyl or memtx
    for name, work in pairs(functions) do
        _G['bakeoff_' .. name] = work
    end
    if functions == vinyl then
        box.session.on_disconnect(vinyl.finish)
    end
    local settings, snapshot = settings(5)
    configure(data, settings)
    if snapshot then
        -- One of nothing new would begin no log.
        box.space._schema:replace({'bakeoff', tostring(require('clock').time64())})
        box.snapshot()
    end
    -- Only now: it would greet clients before it has recovered, and refuse what they ask for.
    box.cfg({listen = 'unix/:' .. socket})
end

-- Starts on a folder that is removed again, and says what is wrong with the settings.
function tasks.try()
    local fio = require('fio')
    local folder = fio.tempdir()
    local settings = settings(2)
    settings.log_level = 1
    local fine, problem = pcall(configure, folder, settings)
    fio.rmtree(folder)
    if not fine then
        io.stderr:write('F> ', tostring(problem), '\n')
    end
    os.exit(fine and 0 or 1)
end

tasks[arg[1]](arg[2], arg[3])
