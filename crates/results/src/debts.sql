-- What a target owed over a trial: a row for each thing that it puts off.
CREATE TABLE IF NOT EXISTS owed (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL CHECK (unit IN ('bytes', 'pages', 'rows', 'transactions', 'files')),
    most INTEGER,               -- where the engine begins to pay at the latest
    points TEXT NOT NULL,       -- JSON: [[seconds from the start of the clients, how much], ...]
    PRIMARY KEY (trial, position)
) STRICT;

-- When it paid: a row for each kind of payment.
CREATE TABLE IF NOT EXISTS payment (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    ended TEXT NOT NULL,        -- JSON: [[seconds, how many had ended since the look before], ...]
    PRIMARY KEY (trial, position)
) STRICT;

-- How much work turned debts over.
CREATE TABLE IF NOT EXISTS calibration (
    key TEXT PRIMARY KEY,       -- what was calibrated: the data, the engine and its levels
    operations INTEGER NOT NULL,
    seconds REAL NOT NULL,
    turned_over INTEGER NOT NULL -- 0 where a debt had not been paid once when that was given up
) STRICT;
