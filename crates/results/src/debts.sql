-- What a target owed over a trial: a row for each thing that it puts off.
CREATE TABLE IF NOT EXISTS owed (
    trial INTEGER NOT NULL REFERENCES trial (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL CHECK (unit IN ('bytes', 'pages', 'rows', 'files')),
    most INTEGER,               -- where the engine has to pay at the latest
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
