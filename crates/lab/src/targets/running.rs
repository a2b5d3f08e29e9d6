//! An open target: the drivers of its clients, its counters, and the work around the clients' work.

use bakeoff_engines::Debt;
use bakeoff_load::{ClientShare, Driver};
use bakeoff_results::Measures;
use bakeoff_workloads::{AuditFindings, Claims, Name};

use crate::TrialError;

/// Dropping it closes it cleanly; nothing of it runs on.
pub trait RunningTarget: Sync {
    /// Operations at the trial's levels, in the order of
    /// [`WorkloadDescription::operations`](super::WorkloadDescription::operations). The window
    /// waits for each; a driver's kinds are indexes into these.
    fn operations(&self) -> &[Name];

    /// The number of drivers. Each has a thread.
    fn drivers(&self, clients: usize) -> usize {
        clients
    }

    /// Operations of each kind that a window needs, if the clients' work has longer rounds; else 0.
    fn least_operations(&self, clients: usize) -> u64 {
        let _ = clients;
        0
    }

    fn concurrency(&self, clients: usize) -> usize {
        clients
    }

    /// File descriptors per client, so that too many clients are refused before they start.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(1)
    }

    /// Called on the driver's thread. With `claims`, the driver records what it sent and what was
    /// acknowledged.
    fn make_driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError>;

    /// Makes a function that does one conditioning operation per call, as one of several clients;
    /// it does not grow the data. See [`bakeoff_workloads::PreparedWorkload::make_conditioner`].
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<ConditioningStep<'_>, TrialError> {
        let _ = (number, clients, seed);
        Err(TrialError::User("it can't be preconditioned".into()))
    }

    /// `None` if unknown. Called while clients work.
    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        Ok(None)
    }

    /// Fills the target's caches as after days of work.
    fn warm(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Does all deferred work.
    fn drain(&self) -> Result<(), TrialError>;

    /// Faults that the target's own check and the workload's invariants find, in sentences; `None`
    /// if there is no check. Nothing else uses the target meanwhile.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        Ok(None)
    }

    /// Which part of the check is left out here, and what would allow it; `None`: none.
    fn find_unchecked(&self) -> Result<Option<String>, TrialError> {
        Ok(None)
    }

    /// Impossible things that stopped clients saw, in sentences: they fail the trial. Called after
    /// every trial; the next trial may follow.
    fn describe_missed(&self) -> Vec<String> {
        Vec::new()
    }

    fn groups(&self) -> Vec<(&'static str, Processes)>;

    fn counters(&self) -> Measures {
        Measures::default()
    }

    /// Counters that grow when the target writes back deferred work.
    fn writes_back(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Counters that grow when the target's own cache misses.
    fn cache_misses(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The work of stopped clients since the last call. `None` for work without transactions that
    /// runs on the target's own threads alone.
    fn take_tally(&self) -> Option<ClientTally> {
        None
    }

    /// The share of time, 0 to 1, in which stopped drivers waited neither for the target nor for a
    /// start, since the last call. `None` if it isn't counted.
    fn take_busy(&self) -> Option<f64> {
        None
    }

    /// Compares the stored data with the clients' claims. Nothing else uses the target meanwhile.
    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let _ = (claims, off_at_ns);
        Err(TrialError::User("it can't audit itself".into()))
    }
}

/// Does one operation per call; returns the writing transactions that it committed.
pub type ConditioningStep<'a> = Box<dyn FnMut() -> Result<u64, TrialError> + 'a>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    Own,
    Family(u32),
    /// The family without one descendant and all below it, which belong to another group.
    Without {
        root: u32,
        apart: u32,
    },
    /// All below this process, which is in no group, without one of them and all below it.
    Children {
        apart: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientTally {
    /// Transactions that changed something.
    pub commits: u64,
    /// As the application counts them.
    pub bytes: u64,
    /// Bytes of returned rows; `None` if they aren't counted.
    pub returned: Option<u64>,
    /// The share of the drivers' processor time in the target's code, if that runs on their
    /// threads.
    pub inside: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    pub faults: Vec<String>,
    pub findings: AuditFindings,
}
