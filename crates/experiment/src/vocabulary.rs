//! The names that are valid in an experiment. Other crates know what they name.

use std::collections::BTreeMap;

use bakeoff_factor::DEFAULT;
use toml::Table;

use crate::factor::{LabFactor, OptionFactor, Valid};
use crate::factors::rate;
use crate::message::{ExperimentProblem, one_of};
use crate::options::{self, HOLDERS, Holders};
use crate::{ArrivalNames, CutBy, Disks, Engines, Factor, Preset};

/// The names that are valid in an experiment, in the order in which they are listed to a user.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The engines.
    pub engines: Engines,
    /// The workloads.
    pub workloads: Vec<WorkloadNames>,
    /// The disks.
    pub disks: Disks,
    /// The arrival processes, at least one; the first is that of a rate without a name.
    pub arrivals: Vec<ArrivalNames>,
    /// The planners, at least one; the first is that of an experiment that names none.
    pub planners: Vec<PlannerNames>,
    /// The collections of text that rows may come from by name; where an experiment names nothing, the first
    /// that is installed.
    pub collections: Vec<CollectionNames>,
    /// The experiments that are known by their names.
    pub presets: Vec<Preset>,
    /// Whether whoever runs an experiment trusts its file like a program: it may then have settings
    /// that run commands, and connect to databases that it names.
    pub trusts: bool,
}

/// A planner, as an experiment names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerNames {
    /// Its name.
    pub name: String,
    /// Whether it decides how often each block is repeated, within [`Bounds`](crate::Bounds).
    pub repeats: bool,
    /// Whether it looks for the highest rate that keeps a [`Limit`](crate::ResponseTimeLimit).
    pub seeks: bool,
}

/// A collection of text, as an experiment names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionNames {
    /// Its name.
    pub name: String,
    /// Whether this machine has it.
    pub installed: bool,
}

/// What an experiment may say of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadNames {
    /// Its name.
    pub name: String,
    /// The scales that it comes in; the first is the default. At least one where it has the factor
    /// `scale`.
    pub scales: Vec<String>,
    /// The operations that its clients do.
    pub operations: Vec<String>,
    /// The factors that it has, at least one, in the order in which they are listed: those of the
    /// lab's own that its target has, and those that its target or itself declares.
    pub factors: Vec<Factor>,
    /// Whether its clients read again what they wrote, so that an engine that stores nothing can't
    /// serve it.
    pub reads_back: bool,
    /// How many rows it takes from a file or a collection at each scale, by the order of the scales; empty
    /// where it makes its rows itself.
    pub takes_rows: Vec<u64>,
    /// The workload whose clients are at work when the power is cut under this one, and the factors by
    /// which promises differ; this one has these, `disk` and `clients`. Or why the power can't be cut: a
    /// clause in the first line, and how to mend it in the lines after that.
    pub cut_by: Result<CutBy, String>,
}

impl WorkloadNames {
    /// Whether it has the factor.
    pub fn has(&self, factor: Factor) -> bool {
        self.factors.contains(&factor)
    }
}

impl Vocabulary {
    /// The workload of that name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadNames> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The planner of that name.
    pub(crate) fn planner(&self, name: &str) -> Result<&PlannerNames, ExperimentProblem> {
        let names: Vec<&str> = self.planners.iter().map(|planner| &*planner.name).collect();
        let name = one_of("planner", name, &names)?;
        Ok(self.planners.iter().find(|planner| planner.name == name).expect("it is one of them"))
    }

    /// The same, with an experiment's own devices.
    pub(crate) fn with_disks(&self, own: &BTreeMap<String, Table>) -> Self {
        Self { disks: self.disks.with_own(own), ..self.clone() }
    }

    /// The factors of a workload; where none is known, those of all workloads, each name once.
    pub(crate) fn factors(&self, workload: Option<&WorkloadNames>) -> Vec<Factor> {
        if let Some(workload) = workload {
            return workload.factors.clone();
        }
        let mut all = Vec::from(Factor::OWN);
        for factor in self.workloads.iter().flat_map(|workload| &workload.factors) {
            if !all.contains(factor) {
                all.push(*factor);
            }
        }
        all
    }

    /// The options that engines and disks declare, each name once, in the order of the names. Where
    /// the workload is known, those of the factors that it has.
    pub fn options(&self, workload: Option<&WorkloadNames>) -> Vec<Factor> {
        let has = |factor: &Factor| workload.is_none_or(|workload| workload.has(*factor));
        let holders = HOLDERS.into_iter().filter(has).map(|factor| self.holders(factor));
        options::factors(holders.flat_map(Holders::declarations))
    }

    /// The engines or the disks.
    pub(crate) fn holders(&self, factor: Factor) -> &dyn Holders {
        if factor == Factor::ENGINE { &self.engines } else { &self.disks }
    }

    /// Whether anything has a factor of that name.
    pub(crate) fn is_factor(&self, name: &str) -> bool {
        let all = self.factors(None).into_iter().chain(self.options(None));
        all.into_iter().any(|factor| factor.name() == name)
    }

    /// The factor of that name, where the workload has it.
    pub(crate) fn factor(
        &self,
        workload: Option<&WorkloadNames>,
        name: &str,
    ) -> Result<Factor, ExperimentProblem> {
        let mut all = self.factors(workload).into_iter().chain(self.options(workload));
        if let Some(factor) = all.find(|factor| factor.name() == name) {
            return Ok(factor);
        }
        let title = match workload.filter(|_| self.is_factor(name)) {
            Some(workload) => format!("the workload `{}` has no factor `{name}`", workload.name),
            None => format!("unknown factor `{name}`"),
        };
        let valid = self.factors(workload);
        let valid: Vec<&str> = valid.into_iter().map(Factor::name).collect();
        Err(self.choices(ExperimentProblem::new(title), name, &valid, workload))
    }

    /// Adds to what is wrong with a name which of the valid ones or of the options was most likely
    /// meant, and what is valid.
    pub(crate) fn choices(
        &self,
        problem: ExperimentProblem,
        name: &str,
        valid: &[&str],
        workload: Option<&WorkloadNames>,
    ) -> ExperimentProblem {
        let options = self.options(workload);
        let options: Vec<&str> = options.into_iter().map(Factor::name).collect();
        let problem = problem.meant(name, &[valid, &options].concat()).valid(valid);
        if options.is_empty() {
            return problem;
        }
        problem.help("and the options of engines and disks: see `bakeoff list factors`")
    }

    /// How the levels of a factor are written, with the registered names that it has in full.
    pub fn syntax(&self, factor: Factor) -> String {
        format!("{}{}", factor.syntax(), self.registered(factor))
    }

    /// What `--help` says of a factor, with the registered names that it has in full.
    pub fn flag_help(&self, factor: Factor) -> String {
        format!("{}{}", factor.flag_help(), self.registered(factor))
    }

    /// What follows of the registered names.
    fn registered(&self, factor: Factor) -> String {
        match factor {
            Factor::Own(LabFactor { valid: Valid::Rates, .. }) => rate::ways(&self.arrivals),
            _ => String::new(),
        }
    }

    /// Brings a level without alias into its canonical form. A scale is taken as it is: which there
    /// are depends on the workload.
    pub(crate) fn canonical(
        &self,
        factor: Factor,
        text: &str,
    ) -> Result<String, ExperimentProblem> {
        if text.is_empty() {
            return Err(ExperimentProblem::new(format!("an empty level of `{factor}`"))
                .help(format!("valid: {}", self.syntax(factor))));
        }
        match factor {
            Factor::Own(own) => match own.valid {
                Valid::Text(canonical) => canonical(text),
                Valid::Engines => self.engines.canonical(text),
                Valid::Disks => self.disks.canonical(text),
                Valid::Rates => rate::canonical(text, &self.arrivals),
                Valid::Scales => Ok(text.to_owned()),
            },
            Factor::Declared(declared) => {
                (declared.canonical)(text).map_err(|message| ExperimentProblem::in_lines(&message))
            }
            Factor::Option(option) => self.canonical_option(option, text),
        }
    }

    /// Brings a level of an option into its canonical form, as one who declares it has it.
    fn canonical_option(
        &self,
        option: &OptionFactor,
        text: &str,
    ) -> Result<String, ExperimentProblem> {
        if text == DEFAULT {
            return Ok(text.to_owned());
        }
        let of = option.declaring_factors().into_iter();
        let mut read = of.filter_map(|factor| self.holders(factor).value(&option.name, text));
        let first = read.next().expect("somebody declares it");
        first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong))
    }
}
