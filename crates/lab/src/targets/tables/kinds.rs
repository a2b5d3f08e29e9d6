//! The kinds of operations of a trial: those of its workload's that its clients run at its levels.

use bakeoff_workloads::Name;

/// A workload's operations by their numbers, and a trial's kinds by theirs.
pub struct Kinds {
    /// The names of all of the workload's.
    all: Vec<Name>,
    /// The names of the trial's.
    names: Vec<Name>,
    /// Of each of the trial's, its number in the workload.
    operations: Vec<usize>,
    /// Of each of the workload's, its number in the trial.
    kinds: Vec<Option<usize>>,
}

impl Kinds {
    /// Of all that a workload has, those that `has` says a trial has; `None` where that is none.
    pub fn from_operations(all: Vec<Name>, has: impl Fn(usize) -> bool) -> Option<Self> {
        let operations: Vec<usize> = (0..all.len()).filter(|number| has(*number)).collect();
        let kind = |number: usize| operations.iter().position(|it| *it == number);
        let kinds = (0..all.len()).map(kind).collect();
        let names = operations.iter().map(|number| all[*number].clone()).collect();
        (!operations.is_empty()).then_some(Self { all, names, operations, kinds })
    }

    /// The names of the trial's.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// The name of any of the workload's.
    pub fn any_name(&self, operation: usize) -> &str {
        &self.all[operation]
    }

    /// The number in the trial of what a client has chosen.
    ///
    /// # Panics
    /// When the trial does not have it: its workload said so.
    pub fn kind(&self, operation: usize) -> usize {
        self.kinds[operation].unwrap_or_else(|| {
            panic!(
                "a client chose `{}`, which its workload says it never runs",
                self.all[operation]
            )
        })
    }

    /// The number in the workload of a kind.
    pub fn operation(&self, kind: usize) -> usize {
        self.operations[kind]
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_workloads::names;

    use super::*;

    #[test]
    fn a_trial_has_those_that_its_clients_run_by_numbers_of_its_own() {
        let kinds = Kinds::from_operations(names(["a", "b", "c"]), |number| number != 1).unwrap();
        assert_eq!(kinds.names(), ["a", "c"]);
        assert_eq!([0, 2].map(|operation| kinds.kind(operation)), [0, 1]);
        assert_eq!([0, 1].map(|kind| kinds.operation(kind)), [0, 2]);
        assert_eq!(kinds.any_name(1), "b");
        assert!(Kinds::from_operations(names(["a"]), |_| false).is_none());
    }

    #[test]
    #[should_panic(expected = "`b`, which its workload says it never runs")]
    fn what_a_workload_says_it_never_runs_is_not_taken_for_another() {
        Kinds::from_operations(names(["a", "b", "c"]), |number| number != 1).unwrap().kind(1);
    }
}
