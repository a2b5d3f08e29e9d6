//! The arrival process `bursts`: jobs come ten at a time, as from a script, and then none for a while.

use bakeoff::load::ArrivalProcess;

/// How many come at once.
const SIZE: u64 = 10;

/// The arrival process.
pub static BURSTS: ArrivalProcess = ArrivalProcess {
    name: "bursts",
    summary: "ten at once, in even gaps",
    gap: |number, _| if number.is_multiple_of(SIZE) { SIZE as f64 } else { 0.0 },
};
