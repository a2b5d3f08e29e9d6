//! A target that is open: its clients' drivers, what it counts of itself, and what is done to it around
//! their work.

use bakeoff_engines::Debt;
use bakeoff_load::{ClientShare, Driver};
use bakeoff_results::Measures;
use bakeoff_workloads::{AuditFindings, Claims, Name};

use crate::TrialError;

/// A target that is open. Dropping it closes it cleanly; nothing of it runs on after that.
pub trait RunningTarget: Sync {
    /// The names of the operations that its clients run at the trial's levels, in the order of
    /// [`About::operations`](super::WorkloadDescription::operations). The window waits for each of them; a driver's kinds
    /// are numbers into these.
    fn operations(&self) -> &[Name];

    /// How many drivers so many clients take: each has a thread.
    fn drivers(&self, clients: usize) -> usize {
        clients
    }

    /// How many operations of each kind a window of so many clients has to wait for, where its own work
    /// comes in rounds that are longer than a few operations; 0 where it does not.
    fn least_operations(&self, clients: usize) -> u64 {
        let _ = clients;
        0
    }

    /// How many operations of so many clients can be in flight at once.
    fn concurrency(&self, clients: usize) -> usize {
        clients
    }

    /// Files that a client has open, so that too many clients are refused before they start.
    ///
    /// # Errors
    /// The target's own.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(1)
    }

    /// Makes the driver of a share of the clients, on the thread that is going to run it. Where
    /// `claims` are wanted, it tells them what it sent and what was acknowledged.
    ///
    /// # Errors
    /// The target's own.
    fn driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError>;

    /// What does one operation after the other of the work that conditions it, which makes it no larger,
    /// as one of so many clients: see [`bakeoff_workloads::PreparedWorkload::conditioner`].
    ///
    /// # Errors
    /// The target's own; the user's where it can't be conditioned.
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<ConditioningStep<'_>, TrialError> {
        let _ = (number, clients, seed);
        Err(TrialError::User("it can't be preconditioned".into()))
    }

    /// What it owes as of now; `None` where nobody knows. It is asked while clients are at work.
    ///
    /// # Errors
    /// The target's own.
    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        Ok(None)
    }

    /// Fills its caches as far as they go, as after days of work.
    ///
    /// # Errors
    /// The target's own.
    fn warm(&self) -> Result<(), TrialError>;

    /// Does everything that it has put off.
    ///
    /// # Errors
    /// The target's own.
    fn drain(&self) -> Result<(), TrialError>;

    /// What is wrong with what it holds, in sentences: by its own check, and by what its workload's data
    /// must fulfil whatever its clients did; `None` where nobody can look. Nobody else uses it meanwhile.
    ///
    /// # Errors
    /// The target's own where it can't be checked at all.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        Ok(None)
    }

    /// What the clients that have stopped were shown and can't be, after what they were told before, in
    /// sentences: it fails the trial. It is asked after every trial, while the next may follow.
    fn missed(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its groups of processes by their names.
    fn groups(&self) -> Vec<(&'static str, Processes)>;

    /// What it counts of itself, as of now.
    fn counters(&self) -> Measures {
        Measures::default()
    }

    /// The names of those of its counters that grow when it writes back what it had put off; empty
    /// where it puts nothing off, or does not count it.
    fn writes_back(&self) -> &'static [&'static str] {
        &[]
    }

    /// The names of those of its counters that grow when it does not find something in its own cache;
    /// empty where it has none, or does not count it.
    fn cache_misses(&self) -> &'static [&'static str] {
        &[]
    }

    /// What clients did on the whole that have stopped since the last call: a call empties the tally.
    /// `None` for work without transactions that runs on no thread but the target's own.
    fn tally(&self) -> Option<ClientTally> {
        None
    }

    /// The part of their time, 0 to 1, in which its drivers did not wait, neither for it nor for a start to be
    /// due: of those that have ended since the last call. `None` where nobody counts.
    fn take_busy(&self) -> Option<f64> {
        None
    }

    /// Holds what is there against what clients claimed; nobody else uses it meanwhile.
    ///
    /// # Errors
    /// The target's own where something can't be read; the user's where it can't audit itself.
    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let _ = (claims, off_at_ns);
        Err(TrialError::User("it can't audit itself".into()))
    }
}

/// Does one operation each time that it is called; how many writing transactions it committed.
pub type ConditioningStep<'a> = Box<dyn FnMut() -> Result<u64, TrialError> + 'a>;

/// What the processes of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// The trial's own, on the threads of its drivers and on threads of its own.
    Own,
    /// A process with all its descendants.
    Family(u32),
    /// A process with all its descendants, but for one of these with all of its own.
    Without {
        /// The process.
        root: u32,
        /// The one that is another group's.
        apart: u32,
    },
}

/// What clients did on the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientTally {
    /// Transactions that changed something and were committed.
    pub commits: u64,
    /// Bytes that these wrote, as the application sees them.
    pub bytes: u64,
    /// Bytes of the rows that clients were returned, as they see them; `None` where nobody counts.
    pub returned: Option<u64>,
    /// The part of the drivers' processor time that was spent in the target's code, where that runs
    /// on their threads.
    pub inside: f64,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// What the target's own check found wrong, in words.
    pub faults: Vec<String>,
    /// Which claims were broken.
    pub findings: AuditFindings,
}
