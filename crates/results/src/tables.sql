-- The tables of run.sqlite, form 3; docs/results.md describes them.
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    description TEXT NOT NULL,  -- JSON: what was known before the first trial
    experiment TEXT NOT NULL,   -- experiment.toml as it was when the run began
    status TEXT NOT NULL CHECK (status IN ('unfinished', 'interrupted', 'finished')),
    ended_s REAL
) STRICT;

CREATE TABLE canary (
    id INTEGER PRIMARY KEY,
    at_s REAL NOT NULL,
    cpu_s REAL NOT NULL,
    memory_s REAL NOT NULL,
    sync_s REAL NOT NULL,
    read_s REAL,
    off TEXT                    -- what was off against the readings before it
) STRICT;

-- Blocks that began while the machine alone was not as before.
CREATE TABLE disturbed (
    block INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (block, attempt)
) STRICT;

CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    repetition INTEGER NOT NULL,
    block INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- in the block
    levels TEXT NOT NULL,       -- JSON: factor to level
    started_s REAL NOT NULL,
    valid INTEGER NOT NULL,
    reason TEXT,
    -- NULL from here on for a trial that failed
    ran_s REAL,
    window_start_s REAL,
    window_end_s REAL,
    measures TEXT,              -- JSON: everything measured besides latencies
    warnings TEXT,              -- JSON: what a reader of the trial should know, in sentences
    UNIQUE (block, attempt, position)
) STRICT;

CREATE TABLE operation (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,  -- in the workload
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    mean_s REAL,
    p50_s REAL,
    p95_s REAL,
    p99_s REAL,
    p999_s REAL,
    max_s REAL,
    service_mean_s REAL,        -- of an open loop alone, as service_p99_s and service
    service_p99_s REAL,
    untrimmed_mean_s REAL,
    per_second REAL NOT NULL,
    errors INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    unfinished INTEGER NOT NULL, -- of count, those that were still running when the trial was cut off
    kept BLOB NOT NULL,         -- HdrHistogram V2: nanoseconds, the window
    service BLOB,               -- the same, of service times
    PRIMARY KEY (trial, position)
) STRICT;

CREATE TABLE slot (
    trial INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    position INTEGER NOT NULL,
    start_s REAL NOT NULL,
    end_s REAL NOT NULL,
    histogram BLOB NOT NULL,    -- HdrHistogram V2: nanoseconds, this slot
    PRIMARY KEY (trial, operation, position),
    FOREIGN KEY (trial, operation) REFERENCES operation (trial, position)
) STRICT;

CREATE TABLE cut (
    id INTEGER PRIMARY KEY,
    engine TEXT NOT NULL,
    durability TEXT NOT NULL,
    file_system TEXT NOT NULL DEFAULT 'ext4',   -- what it promised of names: ext4, posix
    number INTEGER NOT NULL,    -- of the engine's and level's on that file system
    broken INTEGER NOT NULL,    -- by how many rules the level's promise was broken
    failed TEXT,                -- why the cut says nothing of the promise
    facts TEXT NOT NULL,        -- JSON: the cut, and what each rule has left
    UNIQUE (engine, durability, file_system, number)
) STRICT;

-- What a target owed over a trial: a row for each thing that it puts off.
CREATE TABLE owed (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL CHECK (unit IN ('bytes', 'pages', 'rows', 'transactions', 'files')),
    most INTEGER,               -- where the engine begins to pay at the latest
    points TEXT NOT NULL,       -- JSON: [[seconds from the start of the clients, how much], ...]
    PRIMARY KEY (trial, position)
) STRICT;

-- When it paid: a row for each kind of payment.
CREATE TABLE payment (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    ended TEXT NOT NULL,        -- JSON: [[seconds, how many had ended since the look before], ...]
    PRIMARY KEY (trial, position)
) STRICT;

-- How much work turned debts over.
CREATE TABLE calibration (
    key TEXT PRIMARY KEY,       -- what was calibrated: the data, the engine and its levels
    operations INTEGER NOT NULL,
    seconds REAL NOT NULL,
    turned_over INTEGER NOT NULL -- 0 where a debt had not been paid once when that was given up
) STRICT;
