//! The names that are valid in an experiment. What they name is known to others.

use crate::factor::Valid;
use crate::message::Problem;
use crate::{Disks, Engines, Factor, keys};

/// The names that are valid in an experiment, in the order in which they are listed to a user.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The engines.
    pub engines: Engines,
    /// The workloads.
    pub workloads: Vec<WorkloadNames>,
    /// The disks.
    pub disks: Disks,
    /// Whether whoever runs an experiment trusts its file like a program: it may then have settings
    /// that run commands, and connect to databases that it names.
    pub trusts: bool,
}

/// What may be said of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadNames {
    /// Its name.
    pub name: String,
    /// The scales that it comes in; the first is the default. At least one where it has the factor
    /// `scale`.
    pub scales: Vec<String>,
    /// The factors that it has, at least one, in the order in which they are listed: those of the
    /// lab's own that its target has, and those that its target, itself, engines or devices declare.
    pub factors: Vec<Factor>,
    /// Whether its clients read again what they wrote, so that an engine that stores nothing can't
    /// serve it.
    pub reads_back: bool,
    /// The workload whose clients are at work when the power is cut under this one; that takes the
    /// factors `engine`, `durability`, `disk` and `clients`. Or why the power can't be cut: a clause
    /// in the first line, and how to mend it in the lines after that.
    pub cut_by: Result<String, String>,
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

    /// The same, with the names of an experiment's own devices.
    pub(crate) fn with_disks<'a>(&self, own: impl Iterator<Item = &'a String>) -> Self {
        Self { disks: self.disks.with_own(own), ..self.clone() }
    }

    /// The factors of a workload; where none is known, every factor that there is, each name once.
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

    /// Whether anything has a factor of that name.
    pub(crate) fn is_factor(&self, name: &str) -> bool {
        self.factors(None).iter().any(|factor| factor.name() == name)
    }

    /// The factor of that name, where the workload has it.
    pub(crate) fn factor(
        &self,
        workload: Option<&WorkloadNames>,
        name: &str,
    ) -> Result<Factor, Problem> {
        let factors = self.factors(workload);
        if let Some(factor) = factors.iter().find(|factor| factor.name() == name) {
            return Ok(*factor);
        }
        let title = match workload.filter(|_| self.is_factor(name)) {
            Some(workload) => format!("the workload `{}` has no factor `{name}`", workload.name),
            None => format!("unknown factor `{name}`"),
        };
        let valid: Vec<&str> = factors.iter().map(|factor| factor.name()).collect();
        Err(Problem::new(title).choices(name, &valid))
    }

    /// Brings a level without alias into its canonical form. A scale is taken as it is: which there
    /// are depends on the workload.
    pub(crate) fn canonical(&self, factor: Factor, text: &str) -> Result<String, Problem> {
        if text.is_empty() {
            return Err(Problem::new(format!("an empty level of `{factor}`"))
                .help(format!("valid: {}", factor.syntax())));
        }
        match factor {
            Factor::Own(own) => match own.valid {
                Valid::Text(canonical) => canonical(text),
                Valid::Engines => self.engines.canonical(text),
                Valid::Disks => self.disks.canonical(text),
                Valid::Scales => Ok(text.to_owned()),
            },
            Factor::Declared(declared) => {
                (declared.canonical)(text).map_err(|message| Problem::in_lines(&message))
            }
        }
    }

    /// Checks what was registered.
    ///
    /// # Panics
    /// When an experiment couldn't say what a workload needs, or could say it in two ways.
    pub(crate) fn check(&self) {
        for workload in &self.workloads {
            let name = &workload.name;
            assert!(!workload.factors.is_empty(), "the workload {name} has no factor");
            let scales = !workload.has(Factor::SCALE) || !workload.scales.is_empty();
            assert!(scales, "the workload {name} has the factor scale, and no scale");
            let cut = [Factor::ENGINE, Factor::DURABILITY, Factor::DISK, Factor::CLIENTS];
            let can_be_cut = cut.iter().all(|factor| workload.has(*factor));
            assert!(can_be_cut || workload.cut_by.is_err(), "{name} lacks the factors of a cut");
            for factor in &workload.factors {
                let times = workload.factors.iter().filter(|other| *other == factor).count();
                assert_eq!(times, 1, "{name} has the factor {factor} so many times");
                if let Factor::Declared(declared) = factor {
                    let free = !Factor::OWN.iter().any(|own| own.name() == declared.name)
                        && !keys::is_key(declared.name);
                    assert!(free, "the name of the declared factor {factor} is taken");
                    let default = (declared.canonical)(declared.default);
                    let canonical = default.as_deref() == Ok(declared.default);
                    assert!(canonical, "the default of {factor} is not in its canonical form");
                }
            }
        }
    }
}
