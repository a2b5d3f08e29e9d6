//! A driver that shows each ended operation to an observer.

use bakeoff_load::{ClockNanos, Driver, DriverClock, EndedOperation, OperationSink, Pacer};

struct ObservedDriver<'a, F> {
    driver: Box<dyn Driver + 'a>,
    goes_on: F,
}

/// Once `goes_on` returns false, the operation is not recorded, and no other one starts.
pub fn observe_driver<'a>(
    driver: Box<dyn Driver + 'a>,
    goes_on: impl FnMut(&EndedOperation) -> bool + 'a,
) -> Box<dyn Driver + 'a> {
    Box::new(ObservedDriver { driver, goes_on })
}

impl<F: FnMut(&EndedOperation) -> bool> Driver for ObservedDriver<'_, F> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        self.driver.run(pacer, &mut ObservedSink { record, goes_on: &mut self.goes_on });
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }

    fn is_event_driven(&self) -> bool {
        self.driver.is_event_driven()
    }
}

struct ObservedSink<'a> {
    record: &'a mut dyn OperationSink,
    goes_on: &'a mut dyn FnMut(&EndedOperation) -> bool,
}

impl OperationSink for ObservedSink<'_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin_operation(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.record.begin_operation(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        match (self.goes_on)(&operation) {
            true => self.record.record(operation),
            false => None,
        }
    }
}
