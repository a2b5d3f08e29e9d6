//! The options of engines and the parameters of disks: which levels declare them, and the factors
//! that they become.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::DEFAULT;

use crate::Factor;
use crate::factor::OptionFactor;
use crate::message::ExperimentProblem;

pub(crate) const HOLDERS: [Factor; 2] = [Factor::ENGINE, Factor::DISK];

pub(crate) trait HasOptions {
    /// Each by the one engine or disk that declares it.
    fn declared_options(&self) -> Vec<OptionFactor>;

    /// The canonical form, as any declarer of the option has it; `None` without one. Levels have no
    /// alias, here and below.
    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>>;

    fn has(&self, level: &str, option: &str) -> bool;

    /// Whether the level itself gives the option a value.
    fn gives(&self, level: &str, option: &str) -> bool;

    /// Checks that the level can be had with this value of an option that it has.
    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem>;
}

/// One factor for each name, in the order of the names.
pub(crate) fn merge_declared(declared: impl Iterator<Item = OptionFactor>) -> Vec<Factor> {
    let mut all: BTreeMap<String, OptionFactor> = BTreeMap::new();
    let mut defaults: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in declared {
        // A default that is no level does not apply to levels without the option.
        let of_name = defaults.entry(one.name.clone()).or_default();
        of_name.extend((one.default != DEFAULT).then(|| one.default.clone()));
        let Some(option) = all.get_mut(&one.name) else {
            all.insert(one.name.clone(), one);
            continue;
        };
        for (said, more) in [(&mut option.summary, one.summary), (&mut option.syntax, one.syntax)] {
            if !said.split(OR).any(|known| known == more) {
                *said = [&**said, &*more].join(OR);
            }
        }
        option.declared_by.extend(one.declared_by);
    }
    for (option, defaults) in all.values_mut().zip(defaults.into_values()) {
        let mut defaults = defaults.into_iter();
        let one = defaults.next().filter(|_| defaults.next().is_none());
        option.default = one.unwrap_or_else(|| DEFAULT.to_owned());
    }
    all.into_values().map(OptionFactor::intern).collect()
}

const OR: &str = "; or ";
