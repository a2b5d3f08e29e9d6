use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::levels::SyncRule;

pub struct SharedSyncState {
    rule: SyncRule,
    files: usize,
    requests: AtomicU64,
    /// Whether something was written since all files were synced.
    dirty: AtomicBool,
    /// Files of a common sync that nobody has synced yet.
    pending: AtomicUsize,
}

#[derive(Default)]
pub struct ClientSyncState {
    writes: u32,
    files: Vec<usize>,
}

impl SharedSyncState {
    pub fn new(rule: SyncRule, files: usize) -> Self {
        let (requests, dirty) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { rule, files, requests, dirty, pending: AtomicUsize::new(0) }
    }

    pub fn data_only(&self) -> bool {
        matches!(self.rule, SyncRule::After { data_only: true, .. })
    }

    /// Returns the files that this request alone must sync before it is over. `wrote` is the file
    /// that it wrote to.
    pub fn end_request(&self, own: &mut ClientSyncState, wrote: Option<usize>) -> Vec<usize> {
        match self.rule {
            SyncRule::Never | SyncRule::Dsync => {}
            SyncRule::After { writes, .. } => {
                let Some(file) = wrote else { return Vec::new() };
                own.writes += 1;
                if !own.files.contains(&file) {
                    own.files.push(file);
                }
                if own.writes >= writes {
                    own.writes = 0;
                    return std::mem::take(&mut own.files);
                }
            }
            SyncRule::All { requests } => {
                if wrote.is_some() {
                    self.dirty.store(true, Relaxed);
                }
                let number = self.requests.fetch_add(1, Relaxed) + 1;
                let round = number.is_multiple_of(requests.into());
                if round && self.dirty.swap(false, Relaxed) {
                    self.pending.store(self.files, Relaxed);
                }
            }
        }
        Vec::new()
    }

    pub fn next(&self) -> Option<usize> {
        // Usually there is none, and a load is cheaper than a change.
        if self.pending.load(Relaxed) == 0 {
            return None;
        }
        let taken = self.pending.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        taken.ok().map(|left| self.files - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that are synced after each of these requests, which wrote to a file or to none.
    fn after(rule: SyncRule, requests: &[Option<usize>]) -> Vec<Vec<usize>> {
        let (syncs, mut own) = (SharedSyncState::new(rule, 3), ClientSyncState::default());
        let synced = |wrote: &Option<usize>| {
            let mut files = syncs.end_request(&mut own, *wrote);
            files.extend(std::iter::from_fn(|| syncs.next()));
            files.sort_unstable();
            files
        };
        requests.iter().map(synced).collect()
    }

    #[test]
    fn a_client_syncs_what_it_wrote_after_so_many_writes_and_reads_do_not_count() {
        let each = SyncRule::After { writes: 1, data_only: true };
        assert_eq!(after(each, &[Some(2), None, Some(0)]), [vec![2], vec![], vec![0]]);
        let third = SyncRule::After { writes: 3, data_only: false };
        let requests = [Some(1), None, Some(0), Some(1), Some(2)];
        assert_eq!(after(third, &requests), [vec![], vec![], vec![], vec![0, 1], vec![]]);
        for rule in [SyncRule::Never, SyncRule::Dsync] {
            assert_eq!(after(rule, &[Some(1)]), [Vec::<usize>::new()]);
        }
    }

    #[test]
    fn all_files_are_synced_after_so_many_requests_once_something_was_written() {
        let second = SyncRule::All { requests: 2 };
        let requests = [None, None, Some(1), None, None, None];
        let all = vec![0, 1, 2];
        assert_eq!(after(second, &requests), [vec![], vec![], vec![], all, vec![], vec![]]);
    }

    #[test]
    fn clients_share_the_files_that_are_to_be_synced() {
        let syncs = SharedSyncState::new(SyncRule::All { requests: 1 }, 4);
        assert!(
            syncs.end_request(&mut ClientSyncState::default(), Some(0)).is_empty(),
            "they are nobody's own"
        );
        // Whoever asks is given the next one.
        let taken: Vec<usize> = std::iter::from_fn(|| syncs.next()).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
    }
}
