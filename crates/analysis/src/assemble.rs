//! From a run folder to its document.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use bakeoff_results::{Canary, DATABASE, Error, Levels, RunFolder, RunState, TrialSummary};

use crate::compare::{self, Compared, Groups};
use crate::document::{Document, SCHEMA};
use crate::find_unreached::find_unreached;
use crate::judged::JudgedRun;
use crate::machines::MachinesView;
use crate::over_time::OverTime;
use crate::priced::TrialPrices;
use crate::span::ComparedSpan;
use crate::{
    Result, beside, bounds, cells, limits, over_machines, over_time, promises, series, statements,
    warnings,
};

/// What a run folder has to tell, as it is at this moment.
///
/// # Errors
/// [`Error::Damaged`] where it can't be read, [`Error::Refused`] where it is larger than any run.
pub fn document(folder: &RunFolder) -> Result<Document> {
    let _snapshot = folder.snapshot()?;
    let run = folder.state()?;
    let trials = folder.trials()?;
    let cuts = folder.cuts()?;
    if let Some(why) = bounds::exceeded(&run.run, &trials, &cuts) {
        return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
    }
    let counted = cells::counted(&trials);
    let mut cells = cells::cells(&run.run, &counted);
    let prices = TrialPrices::from_trials(&counted);
    for cell in &mut cells {
        let Some(view) = &mut cell.priced else { continue };
        view.ratio = prices.to_baseline(&run.run, &cell.levels);
    }
    let canaries = folder.canaries()?;
    let (held, mut courses) = found(folder, &run, &trials, &counted, &canaries)?;
    let TrialComparisons { mut compared, machines } = held;
    cells.iter_mut().for_each(|cell| cell.over_time = courses.remove(&cell.levels));
    let conditions = JudgedRun::judge(&run, &compared).conditions;
    beside::put(&mut compared.with_baseline, &cells);
    beside::put(&mut compared.between, &cells);
    let limits = limits::all(run.run.limit, &trials);
    let mut document = Document {
        schema: SCHEMA,
        promises: promises::promises(&run.run, &cuts),
        cuts,
        other_cuts: Vec::new(),
        applications: Vec::new(),
        published: None,
        run,
        trials: Vec::new(),
        series: Vec::new(),
        cells,
        comparisons: compared.with_baseline,
        between: compared.between,
        noise: compared.noise,
        sweep: None,
        limits,
        machines,
        conditions,
        canaries,
        flush_turns: Vec::new(),
        unreached: Vec::new(),
        warnings: Vec::new(),
    };
    let disturbed = folder.disturbed()?;
    document.warnings = warnings::all(&document, &trials, &counted, &disturbed, &compared.serial);
    document.mark_unsynced(&counted);
    document.unreached = find_unreached(&document.run.run, &document.cells, &counted);
    document.trials = trials;
    document.published = statements::view(&document);
    document.judge_promises();
    Ok(document)
}

/// What trials show when they are held against each other, and how those went that are shown over time. The
/// one needs no folder, and the other no comparison: where there are two processors, both are found at once.
fn found(
    folder: &RunFolder,
    state: &RunState,
    trials: &[TrialSummary],
    counted: &[&TrialSummary],
    canaries: &[Canary],
) -> Result<(TrialComparisons, BTreeMap<Levels, OverTime>)> {
    thread::scope(|scope| {
        let held = scope.spawn(|| TrialComparisons::from_trials(state, trials, counted, canaries));
        let courses = over_time::all(folder, &state.run.compare, counted);
        match held.join() {
            Ok(held) => Ok((held, courses?)),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// What is found of trials by holding them against each other.
struct TrialComparisons {
    compared: Compared,
    machines: Option<MachinesView>,
}

impl TrialComparisons {
    /// Of all trials of a run, of which `counted` count.
    fn from_trials(
        state: &RunState,
        trials: &[TrialSummary],
        counted: &[&TrialSummary],
        canaries: &[Canary],
    ) -> Self {
        let run = &state.run;
        let groups = Groups::from_trials(run, trials, counted);
        let mut compared = groups.compared(run, ComparedSpan::Window);
        let whole = groups.compared(run, ComparedSpan::WholeTrial);
        compared.put_otherwise(&whole, |it, whole| it.with_warm_up = whole);
        if let Some(all) = compare::with_set_aside(run, trials, counted) {
            compared.put_otherwise(&all, |it, all| {
                it.with_set_aside = all.filter(|all| all.pairs > it.blocks);
            });
        }
        Self { compared, machines: over_machines::view(state, trials, counted, canaries) }
    }
}

impl Document {
    /// Takes the series of every trial, those that don't count among them, from the folder that the
    /// document is of.
    ///
    /// # Errors
    /// [`Error::Damaged`] where they can't be read, [`Error::Refused`] where they have over a million
    /// slots and looks.
    pub fn take_series(&mut self, folder: &RunFolder) -> Result<()> {
        self.series = series::all(folder, &self.trials)?;
        Ok(())
    }
}
