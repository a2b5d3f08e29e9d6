//! Files that are open, and the clients on them.

use std::sync::atomic::Ordering::Relaxed;

use bakeoff_load::{Blocking, ClientShare, Driver};
use bakeoff_results::measure::Measures;
use bakeoff_workloads::{Claims, Name};

use super::audit::audit;
use super::blocks::OneOf;
use super::claims::{BlockClaimWriter, BlockClaims};
use super::files::DataFiles;
use super::medium::DataMedium;
use super::plain::SingleRequestClient;
use super::requests::{RequestContext, RequestTotals, Requests, drawn};
use super::resolved::{ResolvedFolder, no_ring};
use super::ring::Ring;
use super::syncs::SharedSyncState;
use super::writings::Writings;
use super::{GROUP, OPERATIONS};
use crate::TrialError;
use crate::targets::{Audit, ClientTally, Processes, RunningTarget};

/// The count of clients whose memory the kernel did not register: each of their requests pins its own.
const UNREGISTERED: &str = "rings.unregistered";

/// Open files and how they are used.
pub struct OpenDataFiles {
    resolved: ResolvedFolder,
    medium: DataMedium,
    shared: RequestContext,
}

impl OpenDataFiles {
    /// Opens the files.
    ///
    /// # Errors
    /// A file that can't be opened as it is to be used.
    pub fn new(resolved: ResolvedFolder, medium: DataMedium) -> Result<Self, TrialError> {
        let ResolvedFolder { shape, block, pattern, once, rule, .. } = resolved;
        let files = DataFiles::open(&medium, &shape, block, resolved.access())?;
        let (content, syncs) = (shape.content(), SharedSyncState::new(rule, shape.files));
        let writings = match pattern.reads {
            100 => Writings::none(),
            _ => Writings::new(files.blocks()),
        };
        let (earlier, did) = (if medium.is_used() { drawn() } else { 0 }, RequestTotals::default());
        let shared =
            RequestContext { files, content, pattern, once, rule, syncs, writings, earlier, did };
        Ok(Self { resolved, medium, shared })
    }
}

impl RunningTarget for OpenDataFiles {
    fn operations(&self) -> &[Name] {
        match self.resolved.pattern.reads {
            100 => &OPERATIONS[..1],
            0 => &OPERATIONS[1..],
            _ => &OPERATIONS,
        }
    }

    fn least_operations(&self, clients: usize) -> u64 {
        let ResolvedFolder { rule, pattern, direct, .. } = self.resolved;
        if direct { 0 } else { rule.least_of_each_kind(pattern, clients) }
    }

    fn concurrency(&self, clients: usize) -> usize {
        clients * self.resolved.depth
    }

    fn driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let one = OneOf { client: share.clients.start, of: share.of };
        let requests =
            Requests::new(&self.shared, share.seed, one).claiming(BlockClaimWriter::new(claims));
        if !self.resolved.ring {
            return Ok(Box::new(Blocking(SingleRequestClient::new(requests))));
        }
        let ring = Ring::new(requests, self.resolved.depth);
        Ok(Box::new(ring.map_err(|error| TrialError::User(no_ring(&error)))?))
    }

    /// The page cache is all the cache there is, and the lab fills that.
    fn warm(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Syncs what was written.
    fn drain(&self) -> Result<(), TrialError> {
        if !self.resolved.access().writes {
            return Ok(());
        }
        let failed = |error| TrialError::Engine(format!("its files can't be synced: {error}"));
        self.shared.files.files.iter().try_for_each(|file| file.sync_all()).map_err(failed)
    }

    /// Looks whether each page is as it was written last. Files that nobody wrote to are not looked at.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        if !self.resolved.access().writes || !self.shared.content.is_verifiable() {
            return Ok(None);
        }
        let failed = |error| TrialError::Engine(format!("its files can't be read again: {error}"));
        let RequestContext { files, writings, .. } = &self.shared;
        // What nobody wrote to in this trial.
        let untouched = if self.medium.is_used() { None } else { Some(0) };
        let last = |file, offset| match files.block_at(file, offset) {
            Some(block) => {
                writings.find_write(block).and_then(|it| if it == 0 { untouched } else { Some(it) })
            }
            // Nobody writes behind the last whole block.
            None => untouched,
        };
        let ResolvedFolder { shape, direct, .. } = self.resolved;
        shape.faults(&self.medium, direct, &last).map(Some).map_err(failed)
    }

    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let RequestContext { files, content, .. } = &self.shared;
        if !content.is_verifiable() {
            let why = "zeros don't say which write they are of: take `data` random";
            return Err(TrialError::User(why.into()));
        }
        let account = BlockClaims::read(claims, off_at_ns, |block| files.spot(block).file);
        let failed = |error| TrialError::Engine(format!("its files can't be read again: {error}"));
        let findings = audit(files, content, &account).map_err(failed)?;
        Ok(Audit { faults: Vec::new(), findings })
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        vec![(GROUP, Processes::Own)]
    }

    fn counters(&self) -> Measures {
        let mut measures = Measures::default();
        if self.resolved.ring {
            measures.count(UNREGISTERED, self.shared.did.unregistered.load(Relaxed));
        }
        measures
    }

    fn tally(&self) -> Option<ClientTally> {
        let RequestTotals { read, written, durable, .. } = &self.shared.did;
        Some(ClientTally {
            commits: durable.swap(0, Relaxed),
            bytes: written.swap(0, Relaxed),
            returned: Some(read.swap(0, Relaxed)),
            inside: 0.0,
        })
    }
}
