//! Drivers start operations when a pacer says so; the recorder keeps how long each took.
//!
//! This crate must never know what an operation is: no database, no disk, no experiment.

mod arrivals;
mod batch_policy;
mod blocking;
mod clock;
mod collector;
pub mod cost;
pub mod cpu;
mod drive;
mod driver;
mod halt;
mod interleaved;
mod lanes;
mod outcome;
mod pacer;
mod plan;
mod recorder;
mod schedule;
mod slot;
mod starts;
mod window;

pub use arrivals::{ARRIVALS, ArrivalProcess, ArrivalRandom};
pub use blocking::Blocking;
pub use clock::{ClockNanos, DriverClock};
pub use collector::DriveProgress;
pub use drive::{CLIENT_THREADS, DriveError, Observer, drive};
pub use driver::{
    BlockingClient, ClientShare, Driver, EndedOperation, OperationOutcome, OperationSink,
    WorkAmount,
};
pub use halt::MOST_FAILURES;
pub use interleaved::Interleaved;
pub use outcome::{DriveOutcome, DriverRun, KindOutcome, OpenLoopOutcome, Totals, WindowTally};
pub use pacer::Pacer;
pub use plan::DrivePlan;
pub use schedule::Pace;
pub use slot::LatencySlot;
pub use starts::{NextAction, Starts};
