-- The table of sysbench 1.0.20.
CREATE TABLE sbtest1 (
    id BIGSERIAL PRIMARY KEY,
    k INTEGER NOT NULL,
    c VARCHAR(120) NOT NULL,
    pad VARCHAR(60) NOT NULL
);
CREATE INDEX k_1 ON sbtest1 (k);
