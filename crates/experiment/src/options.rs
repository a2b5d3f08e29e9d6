//! The options of engines and the parameters of disks: what the levels of those two factors declare,
//! and the factors that it makes.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_factor::DEFAULT;

use crate::Factor;
use crate::factor::{Declarer, OptionFactor};
use crate::message::ExperimentProblem;

/// The factors whose levels may have options.
pub(crate) const HOLDERS: [Factor; 2] = [Factor::ENGINE, Factor::DISK];

/// The levels of a factor that may have options.
pub(crate) trait Holders {
    /// What each declares.
    fn declarations(&self) -> Vec<Declaration>;

    /// The canonical form of an option's value, as one that declares it has it; `None` where none
    /// declares it.
    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>>;

    /// Whether a level without alias has that option.
    fn has(&self, level: &str, option: &str) -> bool;

    /// Whether a level without alias says itself what the option is.
    fn gives(&self, level: &str, option: &str) -> bool;

    /// Checks that a level without alias can be had with a value of an option that it has.
    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem>;
}

/// An option as one engine or disk declares it.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) by: Declarer,
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) syntax: String,
    pub(crate) default: String,
}

/// The factors that are declared, each name once, in the order of the names.
pub(crate) fn factors(declarations: impl Iterator<Item = Declaration>) -> Vec<Factor> {
    let mut all: BTreeMap<String, OptionFactor> = BTreeMap::new();
    let mut defaults: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Declaration { by, name, summary, syntax, default } in declarations {
        // What one has that is no single level says nothing of those that lack the option.
        let of_name = defaults.entry(name.clone()).or_default();
        of_name.extend((default != DEFAULT).then(|| default.clone()));
        let Some(option) = all.get_mut(&name) else {
            let declared_by = vec![by];
            let option = OptionFactor { name, summary, syntax, default, declared_by };
            all.insert(option.name.clone(), option);
            continue;
        };
        for (said, more) in [(&mut option.summary, summary), (&mut option.syntax, syntax)] {
            if !said.split(OR).any(|one| one == more) {
                *said = [&**said, &*more].join(OR);
            }
        }
        option.declared_by.push(by);
    }
    for (option, defaults) in all.values_mut().zip(defaults.into_values()) {
        let mut defaults = defaults.into_iter();
        let one = defaults.next().filter(|_| defaults.next().is_none());
        option.default = one.unwrap_or_else(|| DEFAULT.to_owned());
    }
    all.into_values().map(OptionFactor::factor).collect()
}

/// What stands between what several say of an option.
const OR: &str = "; or ";
