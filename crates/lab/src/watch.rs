use std::path::Path;

use bakeoff_experiment::Cell;
use bakeoff_results::{Answers, Calibration, Cut, Trial};

use crate::place::images::Recipe;

#[derive(Debug)]
pub enum RunEvent<'a> {
    Swept(&'a Path),
    MeasuringNeighbour,
    Loading {
        data: &'a Recipe,
        rows: u64,
    },
    /// Not sent if nothing had to be loaded.
    Loaded {
        data: &'a Recipe,
        seconds: f64,
        failure: Option<&'a str>,
    },
    Asking(&'a Recipe),
    Answered(&'a Answers),
    Unsettled(&'a str),
    Begins {
        /// Counted from 1, including trials of earlier sittings.
        number: usize,
        of: usize,
        cell: &'a Cell,
        /// Estimated for the rest of the run.
        left_s: f64,
    },
    /// The run measures how much work turns an engine's debts over.
    Calibrating {
        what: &'a str,
    },
    Calibrated {
        what: &'a str,
        learnt: &'a Calibration,
    },
    /// Also sent while that amount is measured.
    Conditioning {
        done: u64,
        of: Option<u64>,
    },
    Progress {
        per_second: f64,
        mean_s: f64,
    },
    Ends(&'a Trial),
    /// Why the run goes on, or ends.
    Planned(&'a str),
    /// All moments' images are drawn and told apart.
    Drawing {
        cut: &'a Cut,
        images: u64,
        different: usize,
    },
    Judging {
        cut: &'a Cut,
        judged: usize,
        of: usize,
        broken: usize,
    },
    Cut {
        /// Includes those of earlier sittings.
        made: usize,
        of: usize,
        cut: &'a Cut,
        /// Estimated until the last one.
        left_s: f64,
    },
}

pub trait RunObserver {
    /// Called on the lab's thread; must return at once.
    fn on_event(&mut self, event: RunEvent<'_>);
}
