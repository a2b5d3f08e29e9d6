-- Gets tuples by their keys with net.box, so many fibers at once on so many connections, for so many seconds.
-- Fibers that share a connection have their requests sent together. Prints the calls, and the seconds that they
-- took. The words: socket, user, password, space, fibers, connections, seconds.
local clock, fiber = require('clock'), require('fiber')
local socket, user, password, name, fibers, connections, seconds = unpack(arg)

local options = {user = user, password = password}
local spaces, keys = {}, {}
for number = 1, connections do
    spaces[number] = require('net.box').connect('unix/:' .. socket, options).space[name]
end
for number, tuple in ipairs(spaces[1]:select({}, {limit = 1000})) do
    keys[number] = tuple[1]
end

local calls, done = 0, fiber.channel(fibers)
local start = clock.monotonic()
local stop = start + seconds

local function work(at, space)
    while clock.monotonic() < stop do
        at = at % #keys + 1
        assert(space:get{keys[at]})
        calls = calls + 1
    end
    done:put(true)
end

for number = 1, fibers do
    fiber.create(work, number, spaces[(number - 1) % connections + 1])
end
for _ = 1, fibers do
    done:get()
end
print('calls: ' .. calls)
print('seconds: ' .. clock.monotonic() - start)
os.exit(0)
