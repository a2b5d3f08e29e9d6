//! `invariants.sql`: queries that must answer 0, or nothing, or whose answers an `\assert` judges.

use super::compile::ScriptCompiler;
use super::steps::{Operation, Step};
use crate::SourcePlace;

const NAME: &str = "invariants";

impl ScriptCompiler<'_> {
    /// Compiles the file. Nothing of it may write, wait or jump.
    pub fn compile_invariants(&mut self, text: &str, place: &SourcePlace) -> Operation {
        let compiled = self.compile_operation(NAME, text, place);
        for placed in &compiled.steps {
            let wrong = match &placed.step {
                Step::Run(run) if run.writes => "an invariant is a query: it writes nothing",
                Step::Run(_) | Step::Set { .. } | Step::Assert(_) => continue,
                _ => "an invariant has queries, \\gset, \\set and \\assert alone: leave it out",
            };
            self.mistakes.add(placed.place.clone(), wrong);
        }
        compiled
    }
}
