use std::sync::atomic::Ordering::Relaxed;

use bakeoff_load::{Blocking, ClientShare, Driver};
use bakeoff_results::measure::Measures;
use bakeoff_workloads::{Claims, Name};

use super::audit::audit_files;
use super::blocks::ClientPosition;
use super::claims::{BlockClaimWriter, BlockClaims};
use super::files::DataFiles;
use super::medium::DataMedium;
use super::plain::SingleRequestClient;
use super::requests::{RequestContext, RequestTotals, Requests, draw_start};
use super::resolved::{ResolvedFolder, no_ring};
use super::ring::Ring;
use super::syncs::SharedSyncState;
use super::writings::LastBlockWrites;
use super::{GROUP, OPERATIONS};
use crate::TrialError;
use crate::targets::{Audit, ClientTally, Processes, RunningTarget};

/// Counts clients whose memory the kernel did not register: each of their requests pins its memory
/// anew.
const UNREGISTERED: &str = "rings.unregistered";

pub struct OpenDataFiles {
    resolved: ResolvedFolder,
    medium: DataMedium,
    shared: RequestContext,
}

impl OpenDataFiles {
    pub fn new(resolved: ResolvedFolder, medium: DataMedium) -> Result<Self, TrialError> {
        let ResolvedFolder { shape, block, pattern, once, rule, .. } = resolved;
        let files = DataFiles::open(&medium, &shape, block, resolved.open_mode())?;
        let (content, syncs) = (shape.content(), SharedSyncState::new(rule, shape.files));
        let writings = LastBlockWrites::new(if pattern.reads == 100 { 0 } else { files.blocks() });
        let (earlier, did) =
            (if medium.is_used() { draw_start() } else { 0 }, RequestTotals::default());
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

    fn make_driver<'a>(
        &'a self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let one = ClientPosition { client: share.clients.start, of: share.of };
        let requests = Requests::new(&self.shared, share.seed, one, BlockClaimWriter(claims));
        if !self.resolved.ring {
            return Ok(Box::new(Blocking(SingleRequestClient::new(requests))));
        }
        let ring = Ring::new(requests, self.resolved.depth);
        Ok(Box::new(ring.map_err(|error| TrialError::User(no_ring(&error)))?))
    }

    fn drain(&self) -> Result<(), TrialError> {
        if !self.resolved.open_mode().writes {
            return Ok(());
        }
        let failed = |error| TrialError::Engine(format!("its files can't be synced: {error}"));
        self.shared.files.files.iter().try_for_each(|file| file.sync_all()).map_err(failed)
    }

    /// Checks that each page holds its last write. Files that nobody wrote to are not checked.
    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        if !self.resolved.open_mode().writes || !self.shared.content.is_verifiable() {
            return Ok(None);
        }
        let failed = |error| TrialError::Engine(format!("its files can't be read again: {error}"));
        let RequestContext { files, writings, .. } = &self.shared;
        // The content of pages that no client wrote to in this trial.
        let untouched = if self.medium.is_used() { None } else { Some(0) };
        let last = |file, offset| match files.block_at(file, offset) {
            Some(block) => {
                writings.find_write(block).and_then(|it| if it == 0 { untouched } else { Some(it) })
            }
            // No client writes behind the last whole block.
            None => untouched,
        };
        let ResolvedFolder { shape, direct, .. } = self.resolved;
        shape.find_faults(&self.medium, direct, &last).map(Some).map_err(failed)
    }

    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        let RequestContext { files, content, .. } = &self.shared;
        if !content.is_verifiable() {
            let why = "zeros don't say which write they are of: take `data` random";
            return Err(TrialError::User(why.into()));
        }
        let account =
            BlockClaims::from_records(claims, off_at_ns, |block| files.locate_block(block).file);
        let failed = |error| TrialError::Engine(format!("its files can't be read again: {error}"));
        let findings = audit_files(files, content, &account).map_err(failed)?;
        Ok(Audit { faults: Vec::new(), findings })
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        vec![(GROUP, Processes::Own)]
    }

    fn counters(&self) -> Measures {
        let mut measures = Measures::default();
        if self.resolved.ring {
            measures.set_counter(UNREGISTERED, self.shared.did.unregistered.load(Relaxed));
        }
        measures
    }

    fn take_tally(&self) -> Option<ClientTally> {
        let RequestTotals { read, written, durable, .. } = &self.shared.did;
        Some(ClientTally {
            commits: durable.swap(0, Relaxed),
            bytes: written.swap(0, Relaxed),
            returned: Some(read.swap(0, Relaxed)),
            inside: 0.0,
        })
    }
}
