//! What a reader of reports sees, of synthetic documents.

mod bounds;
mod charts;
mod conditions;
mod debts;
mod every;
mod formats;
mod little;
mod offered;
mod over_time;
mod own;
mod power;
mod priced;
mod rates;
mod sample;
mod snapshots;
mod states;
mod verdict;
