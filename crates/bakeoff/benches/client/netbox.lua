-- Gets tuples by their keys with net.box, so many fibers at once, for so many seconds. Prints the calls, and the
-- seconds that they took. The words: socket, user, password, space, fibers, seconds.
local clock, fiber = require('clock'), require('fiber')
local socket, user, password, name, fibers, seconds = unpack(arg)

local options = {user = user, password = password}
local server = require('net.box').connect('unix/:' .. socket, options)
local space, keys = server.space[name], {}
for number, tuple in ipairs(space:select({}, {limit = 1000})) do
    keys[number] = tuple[1]
end

local calls, done = 0, fiber.channel(fibers)
local start = clock.monotonic()
local stop = start + seconds

local function work(at)
    while clock.monotonic() < stop do
        at = at % #keys + 1
        assert(space:get{keys[at]})
        calls = calls + 1
    end
    done:put(true)
end

for number = 1, fibers do
    fiber.create(work, number)
end
for _ = 1, fibers do
    done:get()
end
print('calls: ' .. calls)
print('seconds: ' .. clock.monotonic() - start)
os.exit(0)
