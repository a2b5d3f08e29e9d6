//! What a reader of reports sees, of synthetic documents.

mod answers;
mod bounds;
mod charts;
mod conditions;
mod debts;
mod every;
mod first_screen;
mod formats;
mod groups;
mod lines;
mod little;
mod machines;
mod offered;
mod over_time;
mod own;
mod power;
mod priced;
mod published;
mod rates;
mod sample;
mod snapshots;
mod states;
mod sweeps;
mod verdict;
mod work;
