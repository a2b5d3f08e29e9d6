-- vinyl: transactions of its own, each in a fiber.

local vinyl = {}

-- vinyl's transactions outlive a request, but no fiber, and a request has one of its own. So each session's
-- transaction has a fiber, which does what requests ask of it.
local transactions = {}

local function serve(jobs, answers)
    box.begin()
    while true do
        local job = jobs:get()
        if job == nil or job.work == nil then
            return box.rollback()
        end
        answers:put({pcall(job.work, unpack(job))})
        if job.ends then
            return
        end
    end
end

function vinyl.finish()
    local id = box.session.id()
    local transaction = transactions[id]
    transactions[id] = nil
    if transaction ~= nil then
        transaction.jobs:close()
    end
end

local function begin()
    vinyl.finish()
    local transaction = {jobs = fiber.channel(1), answers = fiber.channel(1)}
    transactions[box.session.id()] = transaction
    fiber.create(serve, transaction.jobs, transaction.answers)
end

local function inside(job)
    local transaction = transactions[box.session.id()]
    transaction.jobs:put(job)
    local answer = transaction.answers:get()
    if not answer[1] then
        error(answer[2])
    end
    return answer[2], answer[3]
end

local function get(id, keys)
    local space, found = box.space[id], {}
    for number, key in ipairs(keys) do
        found[number] = space:get{key} or {}
    end
    return found
end

function vinyl.get(snapshot, id, keys)
    if snapshot < 0 then
        begin()
    end
    return 0, (inside{work = get, id, keys})
end

function vinyl.scan(snapshot, ...)
    if snapshot < 0 then
        begin()
    end
    local found, more = inside{work = scan, ...}
    return 0, more, found, {}
end

local function finish(writes)
    local fine, problem = pcall(apply, writes)
    if fine then
        fine, problem = pcall(box.commit)
    end
    if not fine then
        box.rollback()
        error(problem)
    end
end

function vinyl.commit(snapshot, _, writes)
    local fine, problem
    if snapshot < 0 then
        fine, problem = pcall(atomically, apply, writes)
    else
        fine, problem = pcall(inside, {work = finish, ends = true, writes})
        transactions[box.session.id()] = nil
    end
    if fine then
        return true
    end
    if type(problem) == 'cdata' and problem.code == box.error.TRANSACTION_CONFLICT then
        return false
    end
    error(problem)
end
