use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use bakeoff_results::{Canary, DATABASE, Error, Levels, RunFolder, RunState, TrialSummary};

use crate::compare::{self, ComparisonSets, Groups};
use crate::document::{Document, SCHEMA};
use crate::find_unreached::find_unreached;
use crate::idle::{IdleComparison, IdleSeconds};
use crate::interim_analysis::JudgedRun;
use crate::machines::MachinesView;
use crate::over_time::OverTime;
use crate::price::TrialPrices;
use crate::span::ComparedSpan;
use crate::{
    Result, bounds, cells, harness_cost, limits, over_machines, over_time, promises, series,
    statements, warnings,
};

/// The document of a run folder, as it is at this moment. Refused where it is larger than any run.
pub fn read_document(folder: &RunFolder) -> Result<Document> {
    let _snapshot = folder.begin_snapshot()?;
    let run = folder.read_state()?;
    let trials = folder.read_trials()?;
    let cuts = folder.read_cuts()?;
    if let Some(why) = bounds::find_exceeded_bound(&run.run, &trials, &cuts) {
        return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
    }
    let counted = cells::select_counted(&trials);
    let mut cells = cells::collect_cells(&run.run, &counted);
    let prices = TrialPrices::from_trials(&counted);
    for cell in &mut cells {
        let Some(view) = &mut cell.priced else { continue };
        view.ratio = prices.to_baseline(&run.run, &cell.levels);
    }
    let canaries = folder.read_canaries()?;
    let (held, mut courses) = evaluate_trials(folder, &run, &trials, &counted, &canaries)?;
    let TrialComparisons { mut compared, idle, machines } = held;
    cells.iter_mut().for_each(|cell| cell.over_time = courses.remove(&cell.levels));
    let conditions = JudgedRun::judge(&run, &compared).conditions;
    harness_cost::add_cell_facts(&mut compared.with_baseline, &cells);
    harness_cost::add_cell_facts(&mut compared.between, &cells);
    let limits = limits::find_limits(run.run.limit, &trials);
    let mut document = Document {
        schema: SCHEMA,
        promises: promises::summarize_promises(&run.run, &cuts),
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
        tails: compared.tails,
        noise: compared.noise,
        idle,
        sweep: None,
        limits,
        machines,
        conditions,
        canaries,
        flush_turns: Vec::new(),
        unreached: Vec::new(),
        warnings: Vec::new(),
    };
    let disturbed = folder.read_disturbed()?;
    document.warnings =
        warnings::collect_warnings(&document, &trials, &counted, &disturbed, &compared.serial);
    document.mark_unsynced(&counted);
    document.unreached = find_unreached(&document.run.run, &document.cells, &counted);
    document.trials = trials;
    document.published = statements::build_view(&document);
    document.judge_promises();
    Ok(document)
}

/// Comparisons need no folder, and the course over time needs no comparison: where there are two
/// processors, both are worked out at once.
fn evaluate_trials(
    folder: &RunFolder,
    state: &RunState,
    trials: &[TrialSummary],
    counted: &[&TrialSummary],
    canaries: &[Canary],
) -> Result<(TrialComparisons, BTreeMap<Levels, OverTime>)> {
    let idle = IdleSeconds::from_folder(folder, counted)?;
    thread::scope(|scope| {
        let compare = || TrialComparisons::from_trials(state, trials, counted, canaries, &idle);
        let held = scope.spawn(compare);
        let courses = over_time::find_over_time(folder, &state.run.compare, counted);
        match held.join() {
            Ok(held) => Ok((held, courses?)),
            Err(panic) => resume_unwind(panic),
        }
    })
}

struct TrialComparisons {
    compared: ComparisonSets,
    idle: Vec<IdleComparison>,
    machines: Option<MachinesView>,
}

impl TrialComparisons {
    fn from_trials(
        state: &RunState,
        trials: &[TrialSummary],
        counted: &[&TrialSummary],
        canaries: &[Canary],
        seconds: &IdleSeconds,
    ) -> Self {
        let run = &state.run;
        let groups = Groups::from_trials(run, trials, counted);
        let idle = groups.compare_idle(run, seconds);
        let mut compared = groups.compare_levels(run, ComparedSpan::Window, &idle);
        let whole = groups.compare_levels(run, ComparedSpan::WholeTrial, &idle);
        compared.put_otherwise(&whole, |it, whole| it.with_warm_up = whole);
        if let Some(all) = compare::with_set_aside(run, trials, counted, &idle) {
            compared.put_otherwise(&all, |it, all| {
                it.with_set_aside = all.filter(|all| all.pairs > it.blocks);
            });
        }
        let judged = idle.into_iter().zip(&compared.idle);
        Self {
            idle: judged.map(|(case, (p, by))| case.judge(*p, *by)).collect(),
            compared,
            machines: over_machines::compare_machines(state, trials, counted, canaries),
        }
    }
}

impl Document {
    /// Reads the series of every trial from the folder of this document, also of trials that don't
    /// count. Refused where they have over a million slots and looks.
    pub fn take_series(&mut self, folder: &RunFolder) -> Result<()> {
        self.series = series::read_series(folder, &self.trials)?;
        Ok(())
    }
}
