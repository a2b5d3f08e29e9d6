//! The operations that a trial's clients run at its levels.

use bakeoff_workloads::Name;

pub struct Kinds {
    all: Vec<Name>,
    names: Vec<Name>,
    /// For each kind of the trial, its index in the workload.
    operations: Vec<usize>,
    /// For each of the workload's, its index in the trial.
    kinds: Vec<Option<usize>>,
}

impl Kinds {
    pub fn from_operations(all: Vec<Name>, has: impl Fn(usize) -> bool) -> Option<Self> {
        let operations: Vec<usize> = (0..all.len()).filter(|number| has(*number)).collect();
        let kind = |number: usize| operations.iter().position(|it| *it == number);
        let kinds = (0..all.len()).map(kind).collect();
        let names = operations.iter().map(|number| all[*number].clone()).collect();
        (!operations.is_empty()).then_some(Self { all, names, operations, kinds })
    }

    pub fn names(&self) -> &[Name] {
        &self.names
    }

    pub fn any_name(&self, operation: usize) -> &str {
        &self.all[operation]
    }

    /// Panics if the trial lacks the operation, which the workload rules out.
    pub fn kind(&self, operation: usize) -> usize {
        self.kinds[operation].unwrap_or_else(|| {
            panic!(
                "a client chose `{}`, which its workload says it never runs",
                self.all[operation]
            )
        })
    }

    pub fn operation(&self, kind: usize) -> usize {
        self.operations[kind]
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_workloads::to_names;

    use super::*;

    #[test]
    fn a_trial_has_those_that_its_clients_run_by_numbers_of_its_own() {
        let kinds =
            Kinds::from_operations(to_names(["a", "b", "c"]), |number| number != 1).unwrap();
        assert_eq!(kinds.names(), ["a", "c"]);
        assert_eq!([0, 2].map(|operation| kinds.kind(operation)), [0, 1]);
        assert_eq!([0, 1].map(|kind| kinds.operation(kind)), [0, 2]);
        assert_eq!(kinds.any_name(1), "b");
        assert!(Kinds::from_operations(to_names(["a"]), |_| false).is_none());
    }

    #[test]
    #[should_panic(expected = "`b`, which its workload says it never runs")]
    fn what_a_workload_says_it_never_runs_is_not_taken_for_another() {
        Kinds::from_operations(to_names(["a", "b", "c"]), |number| number != 1).unwrap().kind(1);
    }
}
