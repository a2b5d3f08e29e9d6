//! Checks factors that are options of engines or parameters of disks, which depend on the
//! experiment's engines and disks.

use std::collections::BTreeMap;

use bakeoff_engines::DEFAULT;

use crate::factor::OptionFactor;
use crate::layer::LocatedLevels;
use crate::level::{each_once, without_alias};
use crate::message::ExperimentProblem;
use crate::options::HOLDERS;
use crate::{Experiment, Factor, Vocabulary};

pub(super) fn check_options(
    given: &BTreeMap<Factor, LocatedLevels>,
    experiment: &Experiment,
    vocabulary: &Vocabulary,
) -> Vec<ExperimentProblem> {
    let check = OptionCheck { given, experiment, vocabulary };
    let none = LocatedLevels::new();
    let compared = Some(experiment.compare).filter(|factor| !given.contains_key(factor));
    let all = given.iter().map(|(factor, levels)| (*factor, levels));
    let all = all.chain(compared.map(|factor| (factor, &none)));
    all.flat_map(|(factor, levels)| check.check_factor(factor, levels)).collect()
}

struct OptionCheck<'a> {
    given: &'a BTreeMap<Factor, LocatedLevels>,
    experiment: &'a Experiment,
    vocabulary: &'a Vocabulary,
}

struct OptionHolder<'a> {
    of: Factor,
    level: &'a str,
}

impl OptionCheck<'_> {
    fn check_factor(&self, factor: Factor, levels: &LocatedLevels) -> Vec<ExperimentProblem> {
        let holders = self.find_holders(factor.name());
        let at = |problem: ExperimentProblem| match levels.first() {
            Some(first) => problem.at_place(&first.place),
            None => problem,
        };
        let means = |meanings: [String; 2]| vec![at(explain_ambiguous(factor, &meanings))];
        match (factor, &holders[..]) {
            (Factor::Own(_), _) | (Factor::Declared(_), []) => Vec::new(),
            // A level that is no value of the option can only mean the factor.
            (Factor::Declared(_), _)
                if !levels.is_empty() && !self.may_mean(&holders, factor, levels) =>
            {
                Vec::new()
            }
            (Factor::Declared(_), [first, ..]) => {
                means([format!("the workload `{}`", self.experiment.workload), first.in_words()])
            }
            (Factor::Option(option), []) => vec![at(nobody_has(option))],
            (Factor::Option(_), [first, .., last]) if first.of != last.of => {
                means([first.in_words(), last.in_words()])
            }
            (Factor::Option(option), _) => {
                let twice = holders
                    .iter()
                    .filter_map(|holder| self.check_given_once(option, holder, levels));
                let twice: Vec<ExperimentProblem> = twice.collect();
                if twice.is_empty() { self.check_levels(option, &holders, levels) } else { twice }
            }
        }
    }

    /// Whether a level of the factor is a value of the option of the same name, too.
    fn may_mean(
        &self,
        holders: &[OptionHolder<'_>],
        factor: Factor,
        levels: &LocatedLevels,
    ) -> bool {
        let takes = |holder: &OptionHolder<'_>, level: &str| {
            self.vocabulary
                .option_holders(holder.of)
                .takes(holder.level, factor.name(), level)
                .is_ok()
        };
        levels.iter().any(|given| holders.iter().any(|it| takes(it, without_alias(&given.value))))
    }

    fn find_holders(&self, name: &str) -> Vec<OptionHolder<'_>> {
        let of = |of: Factor| {
            let levels = self.experiment.factors.get(&of).into_iter().flatten();
            each_once(levels).into_iter().map(move |level| OptionHolder { of, level })
        };
        let has = |it: &OptionHolder<'_>| self.vocabulary.option_holders(it.of).has(it.level, name);
        HOLDERS.into_iter().flat_map(of).filter(has).collect()
    }

    fn check_given_once(
        &self,
        option: &OptionFactor,
        holder: &OptionHolder<'_>,
        levels: &LocatedLevels,
    ) -> Option<ExperimentProblem> {
        let name = &option.name;
        if !self.vocabulary.option_holders(holder.of).gives(holder.level, name) {
            return None;
        }
        let title = format!("`{name}` is given twice: by {}, and as a factor", holder.in_words());
        let problem = ExperimentProblem::new(title).with_help("leave one of them out");
        let written = self.given.get(&holder.of).into_iter().flatten();
        let mut written = written.filter(|level| without_alias(&level.value) == holder.level);
        let places = written.next().into_iter().chain(levels.first()).map(|given| &given.place);
        Some(places.fold(problem, ExperimentProblem::and_at))
    }

    fn check_levels(
        &self,
        option: &OptionFactor,
        holders: &[OptionHolder<'_>],
        levels: &LocatedLevels,
    ) -> Vec<ExperimentProblem> {
        let given = levels.iter().filter(|given| without_alias(&given.value) != DEFAULT);
        let wrong = given.filter_map(|given| {
            let takes = |holder: &OptionHolder<'_>| {
                let all = self.vocabulary.option_holders(holder.of);
                all.takes(holder.level, &option.name, without_alias(&given.value))
            };
            let taken: Vec<Result<(), ExperimentProblem>> = holders.iter().map(takes).collect();
            let all_wrong: Result<Vec<ExperimentProblem>, ()> =
                taken.into_iter().map(|it| it.err().ok_or(())).collect();
            Some(all_wrong.ok()?.into_iter().next()?.at_place(&given.place))
        });
        wrong.collect()
    }
}

impl OptionHolder<'_> {
    fn in_words(&self) -> String {
        format!("the {} `{}`", self.of, self.level)
    }
}

fn nobody_has(option: &OptionFactor) -> ExperimentProblem {
    let of: Vec<String> = option.declaring_factors().iter().map(ToString::to_string).collect();
    let title =
        format!("no {} of this experiment has the option `{}`", of.join(" or "), option.name);
    ExperimentProblem::new(title)
        .with_help(format!("those that have it: {}", option.declarers().join(", ")))
}

fn explain_ambiguous(factor: Factor, [one, other]: &[String; 2]) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "`{factor}` means two things: {one} declares it, and so does {other}"
    ))
    .with_help(format!(
        "give that of one in its own level, NAME/{factor}=VALUE, and leave the factor out"
    ))
    .with_help("or rename it where it is declared, if that is yours")
}
