//! Splits a client thread's processor time between bakeoff and the engine it calls into, and keeps
//! count of what it writes and reads.
//!
//! An embedded engine works on its caller's thread, so the kernel can't tell the two apart. On one
//! operation in a few the thread's processor clock is read before and after each call into the
//! engine; what these samples show is taken for all operations. Reading that clock costs a
//! system call, which is why not every operation is metered.

use std::time::Duration;

use bakeoff_engines::{Access, Database, Error, Result, Rows, Session, Value};
use bakeoff_load::cpu::thread_cpu;

use super::written::{StatementTotals, Writes};

/// One operation in so many is metered at first, so that a short trial has samples; then one in
/// [`LATER`]. Both are odd: a client that alternates between two operations has both metered.
const AT_FIRST: u64 = 3;
const LATER: u64 = 61;
/// How many operations are metered at the first rate.
const FIRST: u64 = 50;

/// Processor time seen in the metered operations of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// All of the thread's time.
    pub total: Duration,
    /// The part of it inside the engine's calls.
    pub engine: Duration,
}

impl Split {
    /// The engine's share of the time, between 0 and 1; 0 when nothing was metered.
    pub fn engine_share(&self) -> f64 {
        if self.total.is_zero() {
            return 0.0;
        }
        (self.engine.as_secs_f64() / self.total.as_secs_f64()).min(1.0)
    }

    /// Both parts of two splits together.
    pub fn plus(self, other: Self) -> Self {
        Self { total: self.total + other.total, engine: self.engine + other.engine }
    }
}

/// A session that can be metered, or one after the other of those that operations have of their own.
pub struct Metered<'a> {
    /// `None` between two operations that have a session each.
    inner: Option<Box<dyn Session + 'a>>,
    /// What opens a session for each operation.
    each: Option<&'a dyn Database>,
    writes: Writes<'a>,
    /// Operations until the next one is metered, and how many were.
    until: u64,
    metered: u64,
    metering: bool,
    split: Split,
    /// The thread's processor time.
    cpu: fn() -> Duration,
}

impl<'a> Metered<'a> {
    /// Nothing metered yet. `writing` says of each statement whether it writes.
    pub fn new(inner: Box<dyn Session + 'a>, writing: &'a [bool]) -> Self {
        Self { inner: Some(inner), ..Self::of_each(None, writing) }
    }

    /// The same with a session of its own for each operation. To open and to close it counts as the
    /// engine's.
    pub fn each(database: &'a dyn Database, writing: &'a [bool]) -> Self {
        Self::of_each(Some(database), writing)
    }

    fn of_each(each: Option<&'a dyn Database>, writing: &'a [bool]) -> Self {
        let writes = Writes::new(writing);
        let (split, cpu) = (Split::default(), thread_cpu);
        Self { inner: None, each, writes, until: 1, metered: 0, metering: false, split, cpu }
    }

    /// Runs one whole operation on the session, or on one of its own, metered if it is its turn.
    ///
    /// # Errors
    /// The operation's; the engine's where no session can be had.
    pub fn operation(
        &mut self,
        operation: impl FnOnce(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        // The first operation warms caches up and would weigh too much in a short trial.
        self.metering = self.until == 0;
        if !self.metering {
            self.until -= 1;
            return self.connected(operation);
        }
        self.metered += 1;
        self.until = if self.metered < FIRST { AT_FIRST } else { LATER } - 1;
        let start = (self.cpu)();
        let answer = self.connected(operation);
        self.split.total += (self.cpu)() - start;
        answer
    }

    /// Runs an operation on the session, or opens one for it.
    fn connected(&mut self, operation: impl FnOnce(&mut dyn Session) -> Result<()>) -> Result<()> {
        let Some(database) = self.each else { return operation(self) };
        self.inner = Some(self.timed(|| database.session())?);
        let answer = operation(self);
        let ended = self.inner.take();
        self.timed(|| drop(ended));
        answer
    }

    /// What was seen so far.
    pub fn split(&self) -> Split {
        self.split
    }

    /// What was written and read so far.
    pub fn written(&self) -> StatementTotals {
        self.writes.written()
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        let Some(mut inner) = self.inner.take() else {
            return Err(Error::Usage("an operation has no session".into()));
        };
        let answer = self.timed(|| call(&mut *inner));
        self.inner = Some(inner);
        answer
    }

    /// Does what is the engine's.
    fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if !self.metering {
            return work();
        }
        let start = (self.cpu)();
        let answer = work();
        self.split.engine += (self.cpu)() - start;
        answer
    }
}

impl Session for Metered<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.call(|session| session.begin(access))?;
        self.writes.begun();
        Ok(())
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.call(|session| session.run(statement, values, rows))?;
        self.writes.ran(statement, values, count, rows.bytes());
        Ok(count)
    }

    fn commit(&mut self) -> Result<()> {
        let ended = self.call(|session| session.commit());
        match ended {
            Ok(()) => self.writes.committed(),
            Err(_) => self.writes.undone(),
        }
        ended
    }

    fn rollback(&mut self) -> Result<()> {
        self.writes.undone();
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
        let metered = Metered::new(Box::new(Busy), &[false]);
        let mut metered = Metered { cpu: || USED.get(), ..metered };
        let mut rows = Rows::new();
        for number in 0..4 * FIRST * AT_FIRST {
            let operated = metered.operation(|session| {
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
