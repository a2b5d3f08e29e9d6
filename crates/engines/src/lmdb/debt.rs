//! LMDB's debt: commits defer only the reuse of the pages that they free. The file grows until the
//! free list has what the next commits need.

use std::sync::{Mutex, PoisonError};

use heed::EnvInfo;

use crate::DebtTurn;

/// The fewest commits of the first stretch without growth: fewer show nothing.
const FEWEST: u64 = 500;

/// Only growth by more than 1 page in this many counts: added rows take some for good.
const COUNTS: u64 = 100;

pub(super) struct Growth(Mutex<GrowthProgress>);

struct GrowthProgress {
    opened: u64,
    grown: u64,
    pages: u64,
    level: Option<u64>,
}

impl Growth {
    pub fn from_info(info: &EnvInfo) -> Self {
        Self(Mutex::new(GrowthProgress {
            opened: info.last_txn_id as u64,
            grown: 0,
            pages: pages(info),
            level: None,
        }))
    }

    /// Growth has ended when the file has not grown over as many commits as it grew over before. So
    /// longer growth takes longer to be believed ended.
    pub fn measure_turn(&self, info: &EnvInfo) -> DebtTurn {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (commits, pages) = (info.last_txn_id as u64 - seen.opened, pages(info));
        if pages > seen.pages + seen.pages / COUNTS {
            (seen.grown, seen.pages) = (commits, pages);
        }
        let wanted = 2 * seen.grown.max(FEWEST);
        if commits >= wanted {
            seen.level.get_or_insert(wanted);
        }
        let whole = seen.level.unwrap_or(wanted);
        DebtTurn { name: "commits until the file's growth is level", done: commits, whole }
    }
}

pub(super) fn pages(info: &EnvInfo) -> u64 {
    info.last_page_number as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(commits: usize, pages: usize) -> EnvInfo {
        EnvInfo {
            map_addr: std::ptr::null_mut(),
            map_size: 0,
            last_page_number: pages - 1,
            last_txn_id: 40 + commits,
            maximum_number_of_readers: 0,
            number_of_readers: 0,
        }
    }

    #[test]
    fn growth_is_level_when_there_was_none_for_as_long_as_there_was_some() {
        let growth = Growth::from_info(&at(0, 1000));
        let turns = [(0, 1000), (900, 1500), (1799, 1510), (1800, 1515), (2000, 3000)]
            .map(|(commits, pages)| growth.measure_turn(&at(commits, pages)))
            .map(|turn| (turn.done, turn.whole));
        assert_eq!(turns, [(0, 1000), (900, 1800), (1799, 1800), (1800, 1800), (2000, 1800)]);
    }

    #[test]
    fn a_file_that_goes_on_growing_is_never_level() {
        let growth = Growth::from_info(&at(0, 10));
        let mut looks = (1..1000).map(|look| growth.measure_turn(&at(look * 100, 10 + look * 3)));
        assert!(looks.all(|turn| turn.done < turn.whole));
    }
}
