//! What a run reports while it goes on.

use std::path::Path;

use bakeoff_experiment::Cell;
use bakeoff_results::{Answers, Calibration, Cut, Trial};

use crate::place::images::Recipe;

/// What a run is doing.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// What a killed run had left was removed.
    Swept(&'a Path),
    /// One neighbour stream is measured alone.
    MeasuringNeighbour,
    /// Data are being loaded; so many rows so far.
    Loading {
        /// The data.
        data: &'a Recipe,
        /// Rows so far.
        rows: u64,
    },
    /// Data are loaded, or can't be. Nobody is told where there was nothing to load.
    Loaded {
        /// The data.
        data: &'a Recipe,
        /// How long it took.
        seconds: f64,
        /// Why they can't be.
        failure: Option<&'a str>,
    },
    /// An image is asked what a client asks.
    Asking(&'a Recipe),
    /// An image answered, or could not.
    Answered(&'a Answers),
    /// The machine is disturbed; the run waits a little.
    Unsettled(&'a str),
    /// A trial begins.
    Begins {
        /// Which, from 1, counting those that were done before.
        number: usize,
        /// Of how many.
        of: usize,
        /// Its cell.
        cell: &'a Cell,
        /// Seconds until the whole run will be done, if all goes on like this.
        left_s: f64,
    },
    /// How much work turns an engine's debts over is learnt.
    Calibrating {
        /// The data, and the engine that holds them, in a few words.
        what: &'a str,
    },
    /// It is known.
    Calibrated {
        /// As before.
        what: &'a str,
        /// What was learnt.
        learnt: &'a Calibration,
    },
    /// It is conditioned, or how much work that takes is learnt.
    Conditioning {
        /// So many operations so far.
        done: u64,
        /// Of how many; `None` where that is to be learnt.
        of: Option<u64>,
    },
    /// Its clients are at work.
    Progress {
        /// Operations a second, lately.
        per_second: f64,
        /// Mean latency in seconds, lately.
        mean_s: f64,
    },
    /// It has ended.
    Ends(&'a Trial),
    /// The planner has decided something: why the run goes on, or ends.
    Planned(&'a str),
    /// The images of all moments of a history are drawn, and told apart.
    Drawing {
        /// The record in the making.
        cut: &'a Cut,
        /// How many were drawn.
        images: u64,
        /// How many of them differ.
        different: usize,
    },
    /// They are judged.
    Judging {
        /// The record in the making.
        cut: &'a Cut,
        /// How many have been.
        judged: usize,
        /// Of how many.
        of: usize,
        /// How many seem to break the promise.
        broken: usize,
    },
    /// The power was cut, and what was left is judged.
    Cut {
        /// How many are made, those that were made before among them.
        made: usize,
        /// Of how many.
        of: usize,
        /// What was found.
        cut: &'a Cut,
        /// Seconds until the last one, if all goes on like this.
        left_s: f64,
    },
}

/// Somebody who wants to know what a run is doing.
pub trait RunObserver {
    /// Called on the lab's thread; must return at once.
    fn event(&mut self, event: RunEvent<'_>);
}
