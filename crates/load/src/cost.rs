//! What the harness itself costs: measured on the machine it runs on, so that it can be told.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::{
    Blocking, BlockingClient, ClientShare, DrivePlan, DriveProgress, Driver, OperationOutcome,
    drive,
};

/// Processor time an operation, in nanoseconds, for the harness alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarnessCost {
    /// On the driver's thread: reading the clock, pacing, keeping the sample. It is inside every
    /// latency.
    pub driver_ns: f64,
    /// On the collector's thread: sorting the sample into its histogram. It is in no latency.
    pub collector_ns: f64,
}

impl HarnessCost {
    /// Both together.
    pub fn total_ns(&self) -> f64 {
        self.driver_ns + self.collector_ns
    }
}

/// The client that does nothing.
struct Idle;

impl BlockingClient for Idle {
    fn choose(&mut self) -> usize {
        0
    }

    fn operate(&mut self, _: usize) -> OperationOutcome {
        OperationOutcome::default()
    }
}

/// Drives one client that does nothing for 20 ms, and divides the processor time by the
/// operations. Processor time, since other load on the machine should not count.
pub fn measure() -> HarnessCost {
    let plan = DrivePlan::closed(1, 1, Duration::from_millis(20));
    let idle = |_: &ClientShare| Ok::<_, Infallible>(Box::new(Blocking(Idle)) as Box<dyn Driver>);
    let outcome = drive(&plan, idle, &AtomicBool::new(false), &mut |_: &DriveProgress| ())
        .unwrap_or_else(|error| panic!("a client that does nothing can't fail: {error}"));
    let operations = outcome.kinds[0].count();
    let each = |cpu: Duration| cpu.as_nanos() as f64 / operations.max(1) as f64;
    HarnessCost {
        driver_ns: each(outcome.drivers[0].cpu),
        collector_ns: each(outcome.collector_cpu),
    }
}
