//! The registered names that an experiment may use.

use std::collections::BTreeMap;

use bakeoff_engines::DEFAULT;
use bakeoff_load::ArrivalProcess;
use bakeoff_workloads::Collection;
use toml::Table;

use crate::factor::{LabFactor, OptionFactor, Valid};
use crate::factors::rate;
use crate::message::{ExperimentProblem, one_of};
use crate::options::{self, HOLDERS, HasOptions};
use crate::{CutBy, Disks, Engines, Factor, Preset};

/// In the order in which they are listed to a user.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    pub engines: Engines,
    pub workloads: Vec<WorkloadNames>,
    pub disks: Disks,
    /// At least one; the first is that of a rate without a name.
    pub arrivals: Vec<&'static ArrivalProcess>,
    /// At least one; the first is the default.
    pub planners: Vec<PlannerNames>,
    /// The first that is installed is the default source of rows.
    pub collections: Vec<&'static Collection>,
    pub presets: Vec<Preset>,
    /// Whether the file is trusted like a program: it may run commands and connect to databases.
    pub trusts: bool,
}

/// A planner's contract is built on an experiment and its plan, so it stands above this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannerNames {
    pub name: &'static str,
    /// Whether it decides how often each block is repeated, within [`Bounds`](crate::Bounds).
    pub repeats: bool,
    /// Whether it looks for the highest rate that keeps a [limit](crate::ResponseTimeLimit).
    pub seeks: bool,
}

/// A target's description of one of its workloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadNames {
    pub name: String,
    /// The first is the default. At least one if it has the factor `scale`.
    pub scales: Vec<String>,
    pub operations: Vec<String>,
    /// At least one: the lab's own that its target has, and those that it or its target declares.
    pub factors: Vec<Factor>,
    /// Whether its clients read what they wrote: an engine that stores nothing can't serve it.
    pub reads_back: bool,
    /// How many rows it takes from a file at each scale; empty if it makes its rows itself.
    pub takes_rows: Vec<u64>,
    /// How the power is cut under it; it has the factors named there, `disk` and `clients`. The
    /// error says why it can't be cut: a clause, and in further lines how to mend it.
    pub cut_by: Result<CutBy, String>,
}

impl WorkloadNames {
    pub fn has_factor(&self, factor: Factor) -> bool {
        self.factors.contains(&factor)
    }
}

impl Vocabulary {
    pub fn find_workload(&self, name: &str) -> Option<&WorkloadNames> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    pub(crate) fn find_planner(&self, name: &str) -> Result<PlannerNames, ExperimentProblem> {
        let names: Vec<&str> = self.planners.iter().map(|planner| planner.name).collect();
        let name = one_of("planner", name, &names)?;
        Ok(self
            .planners
            .iter()
            .copied()
            .find(|planner| planner.name == name)
            .expect("it is one of them"))
    }

    pub(crate) fn with_disks(&self, own: &BTreeMap<String, Table>) -> Self {
        Self { disks: self.disks.with_own(own), ..self.clone() }
    }

    /// Those of all workloads if none is given, each name once.
    pub(crate) fn factors_of(&self, workload: Option<&WorkloadNames>) -> Vec<Factor> {
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

    /// Factors that engines and disks declare, by name; with a workload, only those that apply to
    /// its factors.
    pub fn option_factors(&self, workload: Option<&WorkloadNames>) -> Vec<Factor> {
        let has = |factor: &Factor| workload.is_none_or(|workload| workload.has_factor(*factor));
        let holders = HOLDERS.into_iter().filter(has).map(|factor| self.option_holders(factor));
        options::merge_declared(holders.flat_map(HasOptions::declared_options))
    }

    pub(crate) fn option_holders(&self, factor: Factor) -> &dyn HasOptions {
        if factor == Factor::ENGINE { &self.engines } else { &self.disks }
    }

    pub(crate) fn is_factor(&self, name: &str) -> bool {
        let all = self.factors_of(None).into_iter().chain(self.option_factors(None));
        all.into_iter().any(|factor| factor.name() == name) || self.engines.is_setting(name)
    }

    pub(crate) fn find_factor(
        &self,
        workload: Option<&WorkloadNames>,
        name: &str,
    ) -> Result<Factor, ExperimentProblem> {
        let mut all = self.factors_of(workload).into_iter().chain(self.option_factors(workload));
        if let Some(factor) = all.find(|factor| factor.name() == name) {
            return Ok(factor);
        }
        let has_engines = workload.is_none_or(|workload| workload.has_factor(Factor::ENGINE));
        if let Some(factor) = self.engines.find_setting_factor(name).filter(|_| has_engines) {
            return Ok(factor);
        }
        let title = match workload.filter(|_| self.is_factor(name)) {
            Some(workload) => format!("the workload `{}` has no factor `{name}`", workload.name),
            None => format!("unknown factor `{name}`"),
        };
        let valid = self.factors_of(workload);
        let valid: Vec<&str> = valid.into_iter().map(Factor::name).collect();
        Err(self.add_choices(ExperimentProblem::new(title), name, &valid, workload))
    }

    pub(crate) fn add_choices(
        &self,
        problem: ExperimentProblem,
        name: &str,
        valid: &[&str],
        workload: Option<&WorkloadNames>,
    ) -> ExperimentProblem {
        let options = self.option_factors(workload);
        let options: Vec<&str> = options.into_iter().map(Factor::name).collect();
        let problem = problem.with_nearest(name, &[valid, &options].concat()).with_valid(valid);
        if options.is_empty() {
            return problem;
        }
        problem.with_help("and the options of engines and disks: see `bakeoff list factors`")
    }

    pub fn level_syntax(&self, factor: Factor) -> String {
        format!("{}{}", factor.syntax(), self.registered_names(factor))
    }

    pub fn flag_help(&self, factor: Factor) -> String {
        format!("{}{}", factor.flag_help(), self.registered_names(factor))
    }

    fn registered_names(&self, factor: Factor) -> String {
        match factor {
            Factor::Own(LabFactor { valid: Valid::Rates, .. }) => {
                rate::describe_arrivals(&self.arrivals)
            }
            _ => String::new(),
        }
    }

    /// A scale stays as it is: the known ones depend on the workload.
    pub(crate) fn canonical_level(
        &self,
        factor: Factor,
        text: &str,
    ) -> Result<String, ExperimentProblem> {
        if text.is_empty() {
            return Err(ExperimentProblem::new(format!("an empty level of `{factor}`"))
                .with_help(format!("valid: {}", self.level_syntax(factor))));
        }
        match factor {
            Factor::Own(own) => match own.valid {
                Valid::Text(canonical) => canonical(text),
                Valid::Engines => self.engines.canonical_level(text),
                Valid::Disks => self.disks.canonical_level(text),
                Valid::Rates => rate::canonical_level(text, &self.arrivals),
                Valid::Scales => Ok(text.to_owned()),
            },
            Factor::Declared(declared) => {
                (declared.canonical)(text).map_err(|message| ExperimentProblem::in_lines(&message))
            }
            Factor::Option(option) => self.canonical_option(option, text),
        }
    }

    fn canonical_option(
        &self,
        option: &OptionFactor,
        text: &str,
    ) -> Result<String, ExperimentProblem> {
        if text == DEFAULT {
            return Ok(text.to_owned());
        }
        let of = option.declaring_factors().into_iter();
        let mut read =
            of.filter_map(|factor| self.option_holders(factor).value(&option.name, text));
        let first = read.next().expect("somebody declares it");
        first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong))
    }
}
