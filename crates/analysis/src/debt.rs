//! The debt of a trial: the work that its target had put off when the clients stopped, and its
//! cost.

use bakeoff_results::measure::{
    COMMITS, DRAIN, DRAIN_CPU, DRAIN_CUT_OFF, DRAIN_WRITTEN, OPERATIONS, PAYLOAD, WRITTEN_BACK,
};
use bakeoff_results::{CellLevels, Measures, OwnFactor, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::groups;
use crate::littles_law::find_concurrency;
use crate::open_loop;

/// The debt of a cell's drained trials. Of several that follow one conditioning, only the last is
/// drained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DebtView {
    /// Mean seconds of the drain, on the same disk beside the same neighbours.
    pub drain_s: f64,
    /// How many drains were cut off, because they took longer than the clients had run. Then the
    /// seconds are a lower bound.
    pub cut_off: u32,
    pub bytes: Option<f64>,
    pub cpu_s: Option<f64>,
    /// The clients' time for each operation: clients × the time that they ran, warm-up included, ÷
    /// operations. `None` for an open loop.
    pub mean_s: Option<f64>,
    /// Clients × (the time that they ran + the drain) ÷ operations.
    pub mean_with_debt_s: Option<f64>,
    /// Whether it wrote back nothing of what it owes in any trial: such figures are those of a
    /// fresh database. `None` where that is not counted, where nothing was owed or written back,
    /// where no change was committed, and where the trial was meant to be steady.
    pub fresh: Option<bool>,
}

struct TrialDebt {
    drain_s: f64,
    cut_off: bool,
    bytes: Option<f64>,
    cpu_s: Option<f64>,
    clients: Option<(f64, f64)>,
    concurrency: f64,
    paid: Option<PaymentEvidence>,
}

#[derive(Clone, Copy, PartialEq)]
enum PaymentEvidence {
    Some,
    Nothing,
    /// Nothing was paid, but nothing is known to have been left, what was left is not of the
    /// clients' work, or the trial was meant to be steady.
    SaysNothing,
}

impl TrialDebt {
    fn from_trial(trial: &TrialSummary) -> Option<Self> {
        let measures = &trial.measures;
        let of = |measure| measures.get(measure, &Scope::Trial);
        let concurrency = find_concurrency(trial)?;
        let operations = measures.get(&OPERATIONS, &Scope::Clients)?;
        let time = concurrency * trial.ran_s?;
        let bytes = sum_drained_bytes(measures);
        // A steady window may lie between two payments: that says nothing of freshness.
        let is_steady =
            trial.levels.level(OwnFactor::State).is_some_and(|it| it.starts_with("steady"));
        // After reads alone a drain may still write what an engine keeps for itself. For files, a
        // write that nobody synced is no commit.
        let clients = |measure| measures.get(measure, &Scope::Clients);
        let only_read = clients(&COMMITS) == Some(0.0) && clients(&PAYLOAD).unwrap_or(0.0) == 0.0;
        let tells = !is_steady && !only_read;
        Some(Self {
            drain_s: of(&DRAIN)?,
            cut_off: of(&DRAIN_CUT_OFF).is_some(),
            bytes,
            cpu_s: measures.of_database(&DRAIN_CPU),
            clients: (!open_loop::is_open(trial) && operations > 0.0).then_some((time, operations)),
            concurrency,
            paid: of(&WRITTEN_BACK).map(|written| match (written > 0.0, bytes) {
                (true, _) => PaymentEvidence::Some,
                (false, Some(owed)) if owed > 0.0 && tells => PaymentEvidence::Nothing,
                (false, _) => PaymentEvidence::SaysNothing,
            }),
        })
    }
}

/// By the virtual disk, or as the kernel counted for the processes of all groups.
fn sum_drained_bytes(measures: &Measures) -> Option<f64> {
    let disk = measures.get(&DRAIN_WRITTEN, &Scope::Disk);
    disk.or_else(|| groups::sum_groups(measures, &DRAIN_WRITTEN))
}

/// The trials that were drained. Of several that follow one conditioning only the last is, since a
/// drain would undo it. All trials, where none was drained.
pub(crate) fn drained_of<'a>(trials: &[&'a TrialSummary]) -> Vec<&'a TrialSummary> {
    let was = |trial: &&TrialSummary| trial.measures.get(&DRAIN, &Scope::Trial).is_some();
    let drained: Vec<&TrialSummary> = trials.iter().copied().filter(was).collect();
    if drained.is_empty() { trials.to_vec() } else { drained }
}

impl DebtView {
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let drained = drained_of(trials);
        let debts: Vec<TrialDebt> =
            drained.iter().map(|trial| TrialDebt::from_trial(trial)).collect::<Option<_>>()?;
        let number = debts.len() as f64;
        let mean = |of: fn(&TrialDebt) -> Option<f64>| {
            let values: Option<Vec<f64>> = debts.iter().map(of).collect();
            values.map(|values| values.iter().sum::<f64>() / number)
        };
        let clients: Option<Vec<(f64, f64)>> = debts.iter().map(|it| it.clients).collect();
        let (time, operations) = clients
            .map(|all| all.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1)))
            .unzip();
        let drains: f64 = debts.iter().map(|it| it.concurrency * it.drain_s).sum();
        let paid: Option<Vec<PaymentEvidence>> = debts.iter().map(|it| it.paid).collect();
        Some(Self {
            drain_s: mean(|it| Some(it.drain_s))?,
            cut_off: debts.iter().filter(|it| it.cut_off).count() as u32,
            bytes: mean(|it| it.bytes),
            cpu_s: mean(|it| it.cpu_s),
            mean_s: time.zip(operations).map(|(time, operations)| time / operations),
            mean_with_debt_s: time.zip(operations).map(|(time, number)| (time + drains) / number),
            fresh: paid.and_then(|paid| is_fresh(&paid)),
        })
    }
}

fn is_fresh(paid: &[PaymentEvidence]) -> Option<bool> {
    let had: Vec<&PaymentEvidence> =
        paid.iter().filter(|it| **it != PaymentEvidence::SaysNothing).collect();
    (!had.is_empty()).then(|| had.iter().all(|it| **it == PaymentEvidence::Nothing))
}

#[cfg(test)]
mod tests {
    use bakeoff_results::measure::CONCURRENCY;

    use super::*;
    use crate::tests::trial_at;

    fn trial(drain_s: f64, operations: f64) -> TrialSummary {
        let mut measures = Measures::default();
        measures.set(&CONCURRENCY, Scope::Clients, 4.0);
        measures.set(&OPERATIONS, Scope::Clients, operations);
        measures.set(&DRAIN, Scope::Trial, drain_s);
        trial_at(&[], measures)
    }

    fn of(trials: &[TrialSummary]) -> Option<DebtView> {
        DebtView::of_cell(&trials.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_mean_with_the_debt_is_the_clients_time_and_the_drains_over_the_operations() {
        let trials = [trial(30.0, 100.0), trial(0.0, 300.0)];
        let debt = of(&trials).unwrap();
        assert_eq!((debt.drain_s, debt.cut_off), (15.0, 0));
        // 2 × 4 × 10 s for 400 operations; 4 × 30 s more.
        assert_eq!((debt.mean_s, debt.mean_with_debt_s), (Some(0.2), Some(0.5)));
        assert_eq!((debt.bytes, debt.cpu_s, debt.fresh), (None, None, None));
    }

    #[test]
    fn a_database_is_fresh_that_wrote_nothing_back_and_owed_something() {
        for (written_back, drained, fresh) in [
            (Some(0.0), Some(4096.0), Some(true)),
            (Some(7.0), Some(4096.0), Some(false)),
            // It owed nothing: there was nothing to write back, and it did not write any back.
            (Some(0.0), Some(0.0), None),
            (Some(0.0), None, None),
            (None, Some(4096.0), None),
        ] {
            let mut it = trial(1.0, 10.0);
            it.measures.set_some(&WRITTEN_BACK, Scope::Trial, written_back);
            it.measures.set_some(&DRAIN_WRITTEN, Scope::Disk, drained);
            assert_eq!(of(&[it]).unwrap().fresh, fresh, "{written_back:?} {drained:?}");
        }
        // One trial that paid is enough.
        let mut paid = trial(1.0, 10.0);
        paid.measures.set(&WRITTEN_BACK, Scope::Trial, 1.0);
        let mut owes = paid.clone();
        owes.measures.set(&WRITTEN_BACK, Scope::Trial, 0.0);
        owes.measures.set(&DRAIN_WRITTEN, Scope::Disk, 1.0);
        assert_eq!(of(&[owes.clone(), paid]).unwrap().fresh, Some(false));
        assert_eq!(of(&[owes.clone(), owes.clone()]).unwrap().fresh, Some(true));
        // One that had nothing to pay says nothing of the others.
        let mut read = owes.clone();
        read.measures.set(&DRAIN_WRITTEN, Scope::Disk, 0.0);
        assert_eq!(of(&[owes.clone(), read]).unwrap().fresh, Some(true));
        // After reads alone nothing of the clients' is owed, whatever the drain wrote.
        for (commits, fresh) in [(0.0, None), (1.0, Some(true))] {
            let mut it = owes.clone();
            it.measures.set(&COMMITS, Scope::Clients, commits);
            assert_eq!(of(&[it.clone()]).unwrap().fresh, fresh, "{commits}");
            it.measures.set(&PAYLOAD, Scope::Clients, 4096.0);
            assert_eq!(of(&[it]).unwrap().fresh, Some(true), "{commits}, not synced");
        }
        // A steady one is not fresh because its window lay between two payments.
        let mut steady = owes;
        steady.levels.insert("state".into(), "steady".into());
        assert_eq!(of(&[steady]).unwrap().fresh, None);
    }

    #[test]
    fn a_trial_that_others_followed_was_not_drained_and_is_left_out() {
        let mut followed = trial(0.0, 900.0);
        followed.measures = Measures::default();
        followed.measures.set(&CONCURRENCY, Scope::Clients, 4.0);
        followed.measures.set(&OPERATIONS, Scope::Clients, 900.0);
        let debt = of(&[followed.clone(), trial(30.0, 100.0)]).unwrap();
        assert_eq!(Some(debt), of(&[trial(30.0, 100.0)]));
        assert_eq!(of(&[followed]), None);
    }

    #[test]
    fn what_was_not_measured_is_not_known() {
        let mut earlier = trial(1.0, 10.0);
        earlier.measures = Measures::default();
        assert_eq!(of(&[earlier]), None);
        let mut open = trial(1.0, 10.0);
        open.measures.set(&bakeoff_results::measure::OFFERED, Scope::Clients, 5.0);
        let debt = of(&[open]).unwrap();
        assert_eq!((debt.drain_s, debt.mean_s, debt.mean_with_debt_s), (1.0, None, None));
        let mut cut = trial(10.0, 10.0);
        cut.measures.set(&DRAIN_CUT_OFF, Scope::Trial, 1.0);
        assert_eq!(of(&[cut, trial(1.0, 10.0)]).unwrap().cut_off, 1);
    }
}
