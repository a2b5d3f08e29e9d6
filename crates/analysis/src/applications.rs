//! Other workloads on the levels that a run compares: what a level is worth to an application, beside what it
//! does by itself.

use bakeoff_results::{Machine, Run};

use crate::comparison::Comparison;
use crate::document::{ApplicationView, Document};

impl Document {
    /// Takes what the run in `folder` found of the levels that this run compares.
    ///
    /// # Errors
    /// Why the two can't stand beside each other, and what to do.
    pub fn take_application(&mut self, folder: &str, other: &Document) -> Result<(), String> {
        let (here, there) = (&self.run.run, &other.run.run);
        let compare = &here.compare;
        if there.compare != *compare {
            return Err(format!(
                "the run in {folder} compares `{}`, and this one `{compare}`: run it with --compare \
                 {compare}",
                there.compare
            ));
        }
        if there.baseline != here.baseline {
            return Err(format!(
                "the run in {folder} holds levels of `{compare}` against {}, and this one against {}: name \
                 the levels in the same order in both",
                there.baseline, here.baseline
            ));
        }
        let is_here = |it: &&Comparison| levels(here, compare).contains(&it.level);
        let comparisons: Vec<Comparison> =
            other.comparisons.iter().filter(is_here).cloned().collect();
        if comparisons.is_empty() {
            return Err(format!(
                "the run in {folder} compares no level of `{compare}` that this one has, beside {}",
                here.baseline
            ));
        }
        let varies =
            |(factor, levels): &&(String, Vec<String>)| factor != compare && levels.len() > 1;
        let varying = there.factors.iter().filter(varies).map(|(factor, _)| factor.clone());
        let application = ApplicationView {
            folder: folder.to_owned(),
            workload: there.workload.clone(),
            varying: varying.collect(),
            comparisons,
            differences: differences(here, there),
        };
        self.applications.push(application);
        Ok(())
    }
}

/// A factor's levels.
fn levels<'a>(run: &'a Run, factor: &str) -> &'a [String] {
    let found = run.factors.iter().find(|(name, _)| name == factor);
    found.map(|(_, levels)| &levels[..]).unwrap_or_default()
}

/// What is told of a machine where another one differs from it.
fn told(machine: &Machine) -> [(&'static str, String); 4] {
    [
        ("the processors", format!("{} × {}", machine.processors, machine.processor)),
        ("the memory", format!("{} MB", machine.memory_bytes / 1_000_000)),
        ("the machine's disk", format!("{} on {}", machine.file_system, machine.device)),
        ("the kernel", machine.kernel.clone()),
    ]
}

/// What differs between two runs and may matter: sentences.
fn differences(here: &Run, there: &Run) -> Vec<String> {
    let machines = told(&here.machine).into_iter().zip(told(&there.machine));
    let machines = machines.map(|((what, here), (_, there))| (what, here, there));
    let versions = [("bakeoff", here.version.clone(), there.version.clone())];
    let all = machines.chain(versions).filter(|(_, here, there)| here != there);
    all.map(|(what, here, there)| format!("{what}: {there} there, {here} here")).collect()
}
