//! Splits a client thread's processor time between bakeoff and the engine, and counts what it
//! writes and reads.
//!
//! An embedded engine works on its caller's thread, so the kernel can't tell the two apart. For one
//! operation in a few, the thread's clock is read around each call into the engine; these samples
//! stand for all. Reading the clock is a system call, so not every operation is metered.

use std::time::Duration;

use bakeoff_engines::{Access, Database, Error, Result, Rows, Session, Value};
use bakeoff_load::cpu::thread_cpu;

use super::statement_totals::{StatementTotals, Writes};

/// One operation in this many is metered at first, so that a short trial has samples; then one in
/// [`LATER`]. Both are odd, so that a client which alternates between two operations has both
/// metered.
const AT_FIRST: u64 = 3;
const LATER: u64 = 61;
const FIRST: u64 = 50;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    pub total: Duration,
    pub engine: Duration,
}

impl TimeSplit {
    /// Between 0 and 1; 0 if nothing was metered.
    pub fn engine_share(&self) -> f64 {
        if self.total.is_zero() {
            return 0.0;
        }
        (self.engine.as_secs_f64() / self.total.as_secs_f64()).min(1.0)
    }

    pub fn plus(self, other: Self) -> Self {
        Self { total: self.total + other.total, engine: self.engine + other.engine }
    }
}

/// A session that is metered, or one per operation.
pub struct MeteredSession<'a> {
    /// `None` between operations that have their own sessions.
    inner: Option<Box<dyn Session + 'a>>,
    each: Option<&'a dyn Database>,
    writes: Writes<'a>,
    /// Operations until the next metered one, and metered so far.
    until: u64,
    metered: u64,
    metering: bool,
    split: TimeSplit,
    cpu: fn() -> Duration,
}

impl<'a> MeteredSession<'a> {
    /// With `connects`, one session per operation: opening and closing count as the engine's.
    /// `writing` tells for each statement whether it writes.
    pub fn open(database: &'a dyn Database, connects: bool, writing: &'a [bool]) -> Result<Self> {
        let inner = if connects { None } else { Some(database.session()?) };
        Ok(Self::new(inner, connects.then_some(database), writing))
    }

    fn new(
        inner: Option<Box<dyn Session + 'a>>,
        each: Option<&'a dyn Database>,
        writing: &'a [bool],
    ) -> Self {
        let writes = Writes::new(writing);
        let (split, cpu) = (TimeSplit::default(), thread_cpu);
        Self { inner, each, writes, until: 1, metered: 0, metering: false, split, cpu }
    }

    pub fn run_operation(
        &mut self,
        operation: impl FnOnce(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        // The first operation warms up caches and would weigh too much in a short trial.
        self.metering = self.until == 0;
        if !self.metering {
            self.until -= 1;
            return self.run_connected(operation);
        }
        self.metered += 1;
        self.until = if self.metered < FIRST { AT_FIRST } else { LATER } - 1;
        let start = (self.cpu)();
        let answer = self.run_connected(operation);
        self.split.total += (self.cpu)() - start;
        answer
    }

    fn run_connected(
        &mut self,
        operation: impl FnOnce(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let Some(database) = self.each else { return operation(self) };
        self.inner = Some(self.time_engine(|| database.session())?);
        let answer = operation(self);
        let ended = self.inner.take();
        self.time_engine(|| drop(ended));
        answer
    }

    pub fn split(&self) -> TimeSplit {
        self.split
    }

    pub fn statement_totals(&self) -> StatementTotals {
        self.writes.statement_totals()
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        let Some(mut inner) = self.inner.take() else {
            return Err(Error::Usage("an operation has no session".into()));
        };
        let answer = self.time_engine(|| call(&mut *inner));
        self.inner = Some(inner);
        answer
    }

    fn time_engine<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if !self.metering {
            return work();
        }
        let start = (self.cpu)();
        let answer = work();
        self.split.engine += (self.cpu)() - start;
        answer
    }
}

impl Session for MeteredSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.call(|session| session.begin(access))?;
        self.writes.note_begin();
        Ok(())
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.call(|session| session.run(statement, values, rows))?;
        self.writes.note_statement(statement, values, count, rows.bytes());
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        let ended = self.call(|session| session.commit());
        match ended {
            Ok(()) => self.writes.note_commit(),
            Err(_) => self.writes.note_rollback(),
        }
        ended
    }

    fn rollback(&mut self) -> Result<()> {
        self.writes.note_rollback();
        self.call(|session| session.rollback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Processor time that a thread is said to have used.
        static USED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    struct Busy;

    fn use_up(time: Duration) {
        USED.set(USED.get() + time);
    }

    impl Session for Busy {
        fn begin(&mut self, _: Access) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, _: usize, _: &[Value<'_>], _: &mut Rows) -> Result<u64> {
            use_up(Duration::from_micros(300));
            Ok(0)
        }
        fn commit(&mut self) -> Result<()> {
            Ok(())
        }
        fn rollback(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_split_follows_where_the_time_goes() {
        let metered = MeteredSession::new(Some(Box::new(Busy)), None, &[false]);
        let mut metered = MeteredSession { cpu: || USED.get(), ..metered };
        let mut rows = Rows::new();
        for number in 0..4 * FIRST * AT_FIRST {
            let operated = metered.run_operation(|session| {
                // Two kinds in turns, of which only one calls the engine.
                use_up(Duration::from_micros(100));
                if number % 2 == 0 {
                    session.run(0, &[], &mut rows)?;
                }
                Ok(())
            });
            operated.unwrap();
        }
        let share = metered.split().engine_share();
        assert!((0.58..0.62).contains(&share), "three fifths were the engine's: {share}");
    }
}
