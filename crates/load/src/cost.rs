use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::{
    Blocking, BlockingClient, ClientShare, DrivePlan, DriveProgress, Driver, OperationOutcome,
    drive,
};

/// Nanoseconds of processor time an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarnessCost {
    /// On the driver's thread: clock, pacing, keeping the sample. It is inside every latency.
    pub driver_ns: f64,
    /// On the collector's thread: sorting samples. It is in no latency.
    pub collector_ns: f64,
}

impl HarnessCost {
    pub fn total_ns(&self) -> f64 {
        self.driver_ns + self.collector_ns
    }
}

struct Idle;

impl BlockingClient for Idle {
    fn choose_operation(&mut self) -> usize {
        0
    }

    fn run_operation(&mut self, _: usize) -> OperationOutcome {
        OperationOutcome::default()
    }
}

/// Drives an idle client for 20 ms. Processor time, because other load must not count.
pub fn measure_cost() -> HarnessCost {
    let plan = DrivePlan::closed_loop(1, 1, Duration::from_millis(20));
    let idle = |_: &ClientShare| Ok::<_, Infallible>(Box::new(Blocking(Idle)) as Box<dyn Driver>);
    let outcome = drive(&plan, idle, &AtomicBool::new(false), &mut |_: &DriveProgress| ())
        .unwrap_or_else(|error| panic!("a client that does nothing can't fail: {error}"));
    let operations = outcome.kinds[0].count_succeeded();
    let each = |cpu: Duration| cpu.as_nanos() as f64 / operations.max(1) as f64;
    HarnessCost {
        driver_ns: each(outcome.drivers[0].cpu),
        collector_ns: each(outcome.collector_cpu),
    }
}
