//! What is wrong with factors that options of engines and parameters of disks are: what can be told
//! only beside the engines and disks of the experiment.

use std::collections::BTreeMap;

use bakeoff_factor::DEFAULT;

use crate::factor::OptionFactor;
use crate::layer::GivenLevels;
use crate::level::{base, each_once};
use crate::message::ExperimentProblem;
use crate::options::HOLDERS;
use crate::{Experiment, Factor, Vocabulary};

/// All that is wrong. `given` are the levels as they were written.
pub(super) fn check(
    given: &BTreeMap<Factor, GivenLevels>,
    experiment: &Experiment,
    vocabulary: &Vocabulary,
) -> Vec<ExperimentProblem> {
    let check = OptionCheck { given, experiment, vocabulary };
    let none = GivenLevels::new();
    let compared = Some(experiment.compare).filter(|factor| !given.contains_key(factor));
    let all = given.iter().map(|(factor, levels)| (*factor, levels));
    let all = all.chain(compared.map(|factor| (factor, &none)));
    all.flat_map(|(factor, levels)| check.factor(factor, levels)).collect()
}

struct OptionCheck<'a> {
    given: &'a BTreeMap<Factor, GivenLevels>,
    experiment: &'a Experiment,
    vocabulary: &'a Vocabulary,
}

/// A level of `engine` or `disk` that has an option.
struct Holder<'a> {
    of: Factor,
    level: &'a str,
}

impl OptionCheck<'_> {
    /// What is wrong with the levels that were given of a factor.
    fn factor(&self, factor: Factor, levels: &GivenLevels) -> Vec<ExperimentProblem> {
        let holders = self.holders(factor.name());
        let at = |problem: ExperimentProblem| match levels.first() {
            Some(first) => problem.at(&first.place),
            None => problem,
        };
        let means = |meanings: [String; 2]| vec![at(ambiguous(factor, &meanings))];
        match (factor, &holders[..]) {
            (Factor::Own(_), _) | (Factor::Declared(_), []) => Vec::new(),
            // A level that is no value of the option can mean the factor alone.
            (Factor::Declared(_), _)
                if !levels.is_empty() && !self.may_mean(&holders, factor, levels) =>
            {
                Vec::new()
            }
            (Factor::Declared(_), [first, ..]) => {
                means([format!("the workload `{}`", self.experiment.workload), first.words()])
            }
            (Factor::Option(option), []) => vec![at(nobody_has(option))],
            (Factor::Option(_), [first, .., last]) if first.of != last.of => {
                means([first.words(), last.words()])
            }
            (Factor::Option(option), _) => {
                let twice = holders.iter().filter_map(|holder| self.twice(option, holder, levels));
                let twice: Vec<ExperimentProblem> = twice.collect();
                if twice.is_empty() { self.levels(option, &holders, levels) } else { twice }
            }
        }
    }

    /// Whether a level of a factor is a value of the option of that name, too.
    fn may_mean(&self, holders: &[Holder<'_>], factor: Factor, levels: &GivenLevels) -> bool {
        let takes = |holder: &Holder<'_>, level: &str| {
            self.vocabulary.holders(holder.of).takes(holder.level, factor.name(), level).is_ok()
        };
        levels.iter().any(|given| holders.iter().any(|it| takes(it, base(&given.value))))
    }

    /// The engines and disks of the experiment that have an option of that name, each once.
    fn holders(&self, name: &str) -> Vec<Holder<'_>> {
        let of = |of: Factor| {
            let levels = self.experiment.factors.get(&of).into_iter().flatten();
            each_once(levels).into_iter().map(move |level| Holder { of, level })
        };
        let has = |it: &Holder<'_>| self.vocabulary.holders(it.of).has(it.level, name);
        HOLDERS.into_iter().flat_map(of).filter(has).collect()
    }

    /// What is wrong where a level says itself what the option is.
    fn twice(
        &self,
        option: &OptionFactor,
        holder: &Holder<'_>,
        levels: &GivenLevels,
    ) -> Option<ExperimentProblem> {
        let name = &option.name;
        if !self.vocabulary.holders(holder.of).gives(holder.level, name) {
            return None;
        }
        let title = format!("`{name}` is given twice: by {}, and as a factor", holder.words());
        let problem = ExperimentProblem::new(title).help("leave one of them out");
        let written = self.given.get(&holder.of).into_iter().flatten();
        let mut written = written.filter(|level| base(&level.value) == holder.level);
        let places = written.next().into_iter().chain(levels.first()).map(|given| &given.place);
        Some(places.fold(problem, ExperimentProblem::and_at))
    }

    /// What is wrong with levels that none can be had with.
    fn levels(
        &self,
        option: &OptionFactor,
        holders: &[Holder<'_>],
        levels: &GivenLevels,
    ) -> Vec<ExperimentProblem> {
        let given = levels.iter().filter(|given| base(&given.value) != DEFAULT);
        let wrong = given.filter_map(|given| {
            let takes = |holder: &Holder<'_>| {
                let all = self.vocabulary.holders(holder.of);
                all.takes(holder.level, &option.name, base(&given.value))
            };
            let taken: Vec<Result<(), ExperimentProblem>> = holders.iter().map(takes).collect();
            let all_wrong: Result<Vec<ExperimentProblem>, ()> =
                taken.into_iter().map(|it| it.err().ok_or(())).collect();
            Some(all_wrong.ok()?.into_iter().next()?.at(&given.place))
        });
        wrong.collect()
    }
}

impl Holder<'_> {
    fn words(&self) -> String {
        format!("the {} `{}`", self.of, self.level)
    }
}

fn nobody_has(option: &OptionFactor) -> ExperimentProblem {
    let of: Vec<String> = option.declaring_factors().iter().map(ToString::to_string).collect();
    let title =
        format!("no {} of this experiment has the option `{}`", of.join(" or "), option.name);
    ExperimentProblem::new(title)
        .help(format!("those that have it: {}", option.declarers().join(", ")))
}

fn ambiguous(factor: Factor, [one, other]: &[String; 2]) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "`{factor}` means two things: {one} declares it, and so does {other}"
    ))
    .help(format!(
        "give that of one in its own level, NAME/{factor}=VALUE, and leave the factor out"
    ))
    .help("or rename it where it is declared, if that is yours")
}
