//! The record of a run as a whole: the facts before its first trial, and its progress.

use crate::FigureOfMerit;
use crate::limit::ResponseTimeLimit;
use crate::published::Publication;
use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::disk_fact::DiskFact;
use crate::machine::Machine;
use crate::own_factor::{CellLevels, DurabilityLevel, OwnFactor};
use crate::power_cut::CutPlan;
use crate::record::Levels;
use crate::shard::{Merged, PlanShard};
use crate::takeover::{Platform, Takeover};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub name: String,
    /// One line on what it asks.
    pub title: String,
    pub workload: String,
    pub operations: Vec<String>,
    /// The time of operations in older records.
    #[serde(default, skip_serializing_if = "is_time")]
    pub figure_of_merit: FigureOfMerit,
    pub compare: String,
    /// A level of the compared factor.
    pub baseline: String,
    pub factors: Vec<(String, Vec<String>)>,
    /// Seconds of a trial's clients.
    pub seconds: f64,
    /// Operations of each kind that end a trial early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_each: Option<u32>,
    pub repetitions: u32,
    /// How often each engine's data were loaded; blocks took turns on these images.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub images: u32,
    pub seed: u64,
    /// `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// A planner may run more, or fewer.
    pub planned: u32,
    pub command: String,
    pub version: String,
    /// In hexadecimal digits; `None` if unreadable, and in older records.
    #[serde(default)]
    pub program_sha256: Option<String>,
    /// Programs and kernels that went on with it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takeovers: Vec<Takeover>,
    /// Rust's `debug_assertions`: bakeoff and built-in engines are slower than they should be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug_build: bool,
    /// Since 1970.
    pub started_s: f64,
    pub machine: Machine,
    /// With settings for each durability level.
    pub engines: Vec<EngineFact>,
    /// Processor time for timing and recording an operation here, in seconds.
    pub harness_s: f64,
    /// Runnable processes in the minute before, on average; `None` if unknown, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Simulated disks; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskFact>,
    /// Requests a second of one neighbour stream alone.
    pub neighbour_alone_per_second: Option<f64>,
    /// The origin of the workload's text.
    pub text: String,
    /// Settings of engines, noted as trials run.
    #[serde(default)]
    pub applied: Vec<Applied>,
    /// Noted as images are asked; none of engines that can't be asked.
    #[serde(default)]
    pub answers: Vec<Answers>,
    #[serde(default)]
    pub cuts: Option<CutPlan>,
    /// The estimate before the run; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
    /// Cells that can't be had and are not in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// When a run that goes on until it is decided is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialDesign>,
    /// Others' figures that the experiment sets beside its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Publication>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<ResponseTimeLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<PlanShard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

fn is_time(merit: &FigureOfMerit) -> bool {
    *merit == FigureOfMerit::Time
}

/// Fixed before the first block: what is fixed later can be made to fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequentialDesign {
    /// Numbers of blocks of a condition, ascending; the last is the most.
    pub looks: Vec<u32>,
    pub confidence: f64,
    /// Comparisons for which the confidence was chosen.
    pub comparisons: u32,
    /// In all sittings together; `None` for no limit.
    pub max_time_s: Option<f64>,
    pub used_s: f64,
}

impl Run {
    /// The level that an alias such as `sqlite@again` stands for.
    pub fn resolve_alias<'a>(&self, factor: &str, level: &'a str) -> Option<&'a str> {
        let (base, _) = level.rsplit_once('@')?;
        self.levels_of(factor).iter().any(|known| known == base).then_some(base)
    }

    /// The levels of a factor, in the plan's order; none where the run has no such factor.
    pub fn levels_of(&self, factor: &str) -> &[String] {
        let found = self.factors.iter().find(|(name, _)| name == factor);
        found.map_or(&[], |(_, levels)| levels)
    }

    /// The levels of a factor that are no aliases.
    pub fn base_levels<'a>(&'a self, factor: &'a str) -> impl Iterator<Item = &'a str> {
        let levels = self.levels_of(factor).iter().map(String::as_str);
        levels.filter(move |level| self.resolve_alias(factor, level).is_none())
    }

    /// The compared levels that compete: no aliases, and not the harness.
    pub fn contenders(&self) -> impl Iterator<Item = &str> {
        self.base_levels(&self.compare).filter(|level| !self.is_harness(level))
    }

    /// Whether the run is of engines, whatever it compares; one of files is not.
    pub fn has_engines(&self) -> bool {
        self.factors.iter().any(|(name, _)| *name == OwnFactor::Engine)
    }

    /// A cell's level of a factor, without the alias by which it was entered.
    pub fn base_level<'a>(&self, levels: &'a Levels, factor: OwnFactor) -> Option<&'a str> {
        let level = levels.level(factor)?;
        Some(self.resolve_alias(factor.as_str(), level).unwrap_or(level))
    }

    pub fn durability(&self, levels: &Levels) -> Option<DurabilityLevel> {
        DurabilityLevel::from_name(self.base_level(levels, OwnFactor::Durability)?)
    }

    /// By name or alias. Unknown engines are taken to store.
    pub fn stores_data(&self, engine: &str) -> bool {
        let name = self.resolve_alias(OwnFactor::Engine.as_str(), engine).unwrap_or(engine);
        self.engines.iter().find(|fact| fact.name == name).is_none_or(|fact| fact.stores)
    }

    /// Whether a cell's engine stores anything; a cell of files does.
    pub fn stores_at(&self, levels: &Levels) -> bool {
        levels.level(OwnFactor::Engine).is_none_or(|engine| self.stores_data(engine))
    }

    /// Whether a level of the compared factor measures the harness and not an engine.
    pub fn is_harness(&self, level: &str) -> bool {
        self.compare == OwnFactor::Engine && !self.stores_data(level)
    }

    /// The program and kernel at the start.
    pub fn platform(&self) -> Platform {
        Platform {
            version: self.version.clone(),
            program_sha256: self.program_sha256.clone(),
            kernel: self.machine.kernel.clone(),
            kernel_version: self.machine.kernel_version.clone(),
        }
    }

    /// By the trial's position in the order of running.
    pub fn version_of_trial(&self, place: usize) -> &str {
        let last = self.takeovers.iter().rfind(|it| it.trials as usize <= place);
        last.map_or(&self.version, |it| &it.by.version)
    }

    /// In a merged run, the machine that resumed it last.
    pub fn machine_now(&self) -> &Machine {
        let last = self.merged.as_ref().and_then(Merged::went_on_last);
        last.map_or(&self.machine, |last| &last.machine)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// Any level of other factors.
    pub levels: Levels,
    pub why: String,
    pub trials: u32,
    pub cuts: u32,
}

/// The engine first: `sqlite × disk null × neighbours x1`.
pub fn in_words(levels: &Levels) -> String {
    let engine = levels.level(OwnFactor::Engine).map(str::to_owned);
    let others = levels.iter().filter(|(factor, _)| **factor != OwnFactor::Engine);
    let others = others.map(|(factor, level)| format!("{factor} {level}"));
    engine.into_iter().chain(others).collect::<Vec<_>>().join(" × ")
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub engine: String,
    pub durability: String,
    pub memory: String,
    /// Options that are factors.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub options: Levels,
    pub settings: Vec<AppliedSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedSetting {
    pub name: String,
    pub value: String,
    /// `None` for a setting of the user.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFact {
    pub name: String,
    pub version: String,
    /// For each durability level.
    pub settings: Vec<(String, String)>,
    /// An engine that stores nothing measures the harness, and is no contender.
    pub stores: bool,
    /// The protection of a connection to an external server.
    #[serde(default)]
    pub transport: Option<ConnectionSecurity>,
    /// The password is kept nowhere; to resume the run, it must be given again.
    #[serde(default)]
    pub password_in_url: bool,
}

/// Protection of a connection to a foreign server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionSecurity {
    /// It stays on the machine.
    Local,
    Plain,
    /// TLS with an unverified server.
    Unverified,
    /// TLS with any certificate of the named authority.
    Authority,
    /// TLS with the host of the URL.
    Verified,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    #[serde(flatten)]
    pub run: Run,
    pub status: Status,
    /// `None` while running, and after a kill.
    pub ended_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Running, or killed.
    Unfinished,
    Interrupted,
    Finished,
}

impl Status {
    const NAMES: [(Self, &str); 3] = [
        (Self::Unfinished, "unfinished"),
        (Self::Interrupted, "interrupted"),
        (Self::Finished, "finished"),
    ];

    /// As in the JSON and in the tables.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(status, _)| *status)
    }
}
