//! Run folders: as bakeoff writes them, as an earlier one did, and as somebody else might.

mod cuts;
#[path = "../../examples/synthetic/data.rs"]
mod data;
mod debts;
mod folder;
mod foreign;
mod form1;
#[path = "../../examples/synthetic/cuts.rs"]
mod power;
