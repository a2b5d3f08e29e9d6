//! Cells that did not keep the promise of their durability level: they can't be fastest.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{FileSystem, Levels, PromiseFactors, TrialSummary};

use crate::comparison::{Comparison, Verdict};
use crate::document::{CellView, Document};
use crate::flush::flush_turns;
use crate::promises::{BrokenPromise, PromiseView};
use crate::warning::{self, Warning, WarningKind};
use crate::{cells, sweep_lines, warnings};

impl Document {
    pub(crate) fn mark_unsynced(&mut self, counted: &[&TrialSummary]) {
        let unsynced = warnings::unsynced_cells(&self.run.run, &self.cells, counted);
        for cell in &mut self.cells {
            if unsynced.contains(&cell.levels) {
                cell.broken_promise = Some(BrokenPromise::NotSynced);
            }
        }
    }

    /// Marks the cells whose promise a power cut broke, in this run or in one whose cuts were
    /// taken. No comparison with such a cell has a verdict. Cuts of a file system that promises
    /// less than ext4 say nothing of these cells.
    pub fn judge_promises(&mut self) {
        let own = self.run.run.cuts.as_ref();
        let own = self.promises.iter().map(|promise| (promise, own));
        let others = self.other_cuts.iter().map(|other| (&other.promise, other.plan.as_ref()));
        let broken: Vec<(PromiseView, PromiseFactors)> = own
            .chain(others)
            .filter(|(it, _)| it.kept == Some(false) && it.file_system == FileSystem::Ext4)
            .map(|(it, plan)| (it.clone(), plan.map(|it| it.promise.clone()).unwrap_or_default()))
            .collect();
        let run = &self.run.run;
        let has = |levels: &Levels, factor: &str, promised: &str| {
            let level = levels.get(factor);
            level.is_some_and(|level| run.resolve_alias(factor, level).unwrap_or(level) == promised)
        };
        for cell in &mut self.cells {
            let is_of = |(promise, factors): &(PromiseView, PromiseFactors)| {
                has(&cell.levels, &factors.who, &promise.engine)
                    && has(&cell.levels, &factors.what, &promise.durability)
            };
            if broken.iter().any(is_of) {
                cell.broken_promise = Some(BrokenPromise::BrokenInPowerCut);
            }
        }
        self.warn_of_broken_promises();
        self.void_broken_promises();
        self.sweep = sweep_lines::build_sweep(self);
        let broken: BTreeSet<&Levels> = self
            .cells
            .iter()
            .filter(|it| it.broken_promise.is_some())
            .map(|it| &it.levels)
            .collect();
        let counted = cells::select_counted(&self.trials);
        let keeps = |levels: &Levels| !broken.contains(levels);
        self.flush_turns = flush_turns(&self.run.run, &counted, keeps);
    }

    fn void_broken_promises(&mut self) {
        let broken: BTreeMap<&Levels, BrokenPromise> =
            self.cells.iter().filter_map(|it| Some((&it.levels, it.broken_promise?))).collect();
        let is_broken = |it: &Comparison, level| broken.contains_key(&it.cell_at(level));
        for comparison in self.comparisons.iter_mut().chain(&mut self.between) {
            let both = [&comparison.baseline, &comparison.level];
            if both.into_iter().any(|level| is_broken(comparison, level)) {
                comparison.verdict = Verdict::Void;
            }
        }
        for idle in &mut self.idle {
            let both = [&idle.baseline, &idle.level].map(|level| idle.cell_at(level));
            idle.clear &= both.iter().all(|cell| !broken.contains_key(cell));
        }
    }

    fn warn_of_broken_promises(&mut self) {
        let is_broken =
            |cell: &&CellView| cell.broken_promise == Some(BrokenPromise::BrokenInPowerCut);
        let broken: Vec<&CellView> = self.cells.iter().filter(is_broken).collect();
        let Some(first) = broken.first() else { return };
        let place = warnings::describe_place(&self.run.run, &first.levels);
        let text = match broken.len() {
            1 => format!(
                "the promise of {place} was broken in a power cut: it is fastest at nothing there"
            ),
            number => format!(
                "{number} cells broke their promise in a power cut, first {place}: they are fastest at \
                 nothing there"
            ),
        };
        let warning = Warning::new(WarningKind::PromiseBroken, text).with_remedy(
            "compare it at a level that it keeps, or report the fault to the engine’s makers",
        );
        self.warnings.retain(|it| it.kind != WarningKind::PromiseBroken);
        self.warnings.push(warning);
        warning::sort(&mut self.warnings);
    }
}
