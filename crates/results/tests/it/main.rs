//! Run folders: as bakeoff writes them, as another one did, and as somebody else might.

mod cuts;
#[path = "../../examples/synthetic/data.rs"]
mod data;
mod debts;
mod folder;
mod foreign;
mod merge;
#[path = "../../examples/synthetic/cuts.rs"]
mod power;
mod takeover;
