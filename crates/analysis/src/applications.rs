//! Findings of other workloads about the levels that a run compares: the worth of a level to an
//! application.

use bakeoff_results::{Machine, Run};

use crate::comparison::Comparison;
use crate::document::{ApplicationView, Document};

impl Document {
    /// Takes the findings of the run in `folder` about the levels that this run compares. The error
    /// says why the two runs don't fit together, and what to do.
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
        let is_here = |it: &&Comparison| here.levels_of(compare).contains(&it.level);
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
            differences: describe_differences(here, there),
        };
        self.applications.push(application);
        Ok(())
    }
}

fn describe_machine(machine: &Machine) -> [(&'static str, String); 4] {
    [
        ("the processors", format!("{} × {}", machine.processors, machine.processor)),
        ("the memory", format!("{} MB", machine.memory_bytes / 1_000_000)),
        ("the machine's disk", format!("{} on {}", machine.file_system, machine.device)),
        ("the kernel", machine.kernel.clone()),
    ]
}

fn describe_differences(here: &Run, there: &Run) -> Vec<String> {
    let machines =
        describe_machine(&here.machine).into_iter().zip(describe_machine(&there.machine));
    let machines = machines.map(|((what, here), (_, there))| (what, here, there));
    let versions = [("bakeoff", here.version.clone(), there.version.clone())];
    let all = machines.chain(versions).filter(|(_, here, there)| here != there);
    all.map(|(what, here, there)| format!("{what}: {there} there, {here} here")).collect()
}
