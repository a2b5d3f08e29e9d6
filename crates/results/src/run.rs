//! What is recorded of a run as a whole: what is known before its first trial, and how far it came.

use bakeoff_factor::FigureOfMerit;
use bakeoff_factor::limit::ResponseTimeLimit;
use bakeoff_factor::published::Publication;
use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::disk_fact::DiskFact;
use crate::machine::Machine;
use crate::power_cut::CutPlan;
use crate::record::Levels;
use crate::shard::{Merged, PlanShard};
use crate::takeover::{Platform, Takeover};

/// What is known of a run before its first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The experiment's name.
    pub name: String,
    /// One line on what it asks.
    pub title: String,
    /// The workload's name.
    pub workload: String,
    /// The operations of the workload, in its order.
    pub operations: Vec<String>,
    /// What readers of the workload speak of; the time of its operations in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "is_time")]
    pub figure_of_merit: FigureOfMerit,
    /// The compared factor.
    pub compare: String,
    /// The compared factor's level that the others are held against.
    pub baseline: String,
    /// The levels of each factor, in the order in which they were given.
    pub factors: Vec<(String, Vec<String>)>,
    /// Seconds that the clients of a trial run.
    pub seconds: f64,
    /// How many operations of each kind end a trial before these seconds are over; `None` where the time alone
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_each: Option<u32>,
    /// How often each block is repeated.
    pub repetitions: u32,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The planner, which decided what block was run next; `None` in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// How many trials are planned. A planner may run more, or fewer.
    pub planned: u32,
    /// The command that repeats the run.
    pub command: String,
    /// bakeoff's version.
    pub version: String,
    /// The SHA-256 of bakeoff's program, in hexadecimal digits; `None` where it could not be read, and in
    /// records of an older bakeoff.
    #[serde(default)]
    pub program_sha256: Option<String>,
    /// The programs and kernels that went on with it in the place of those before, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takeovers: Vec<Takeover>,
    /// Whether bakeoff was built without optimisation (Rust's `debug_assertions`): it and the engines
    /// that are built into it are slower than they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug_build: bool,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// The machine.
    pub machine: Machine,
    /// Each engine of the run: its name, version and settings a durability level.
    pub engines: Vec<EngineFact>,
    /// What timing and recording an operation costs bakeoff on this machine, in seconds of
    /// processor time; measured when the run begins.
    pub harness_s: f64,
    /// How many processes wanted a processor in the minute before the run began, on average;
    /// `None` where the system does not tell, and in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The disks that it simulates, each once; empty in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskFact>,
    /// Requests a second that one neighbour stream reached alone, where it was measured.
    pub neighbour_alone_per_second: Option<f64>,
    /// Where the workload's text comes from.
    pub text: String,
    /// What engines were opened with, under the terms of each trial that ran: noted as they are.
    #[serde(default)]
    pub applied: Vec<Applied>,
    /// What the image of each engine answered before its first trial: noted as it is asked. Of an engine
    /// that can't be asked there is none.
    #[serde(default)]
    pub answers: Vec<Answers>,
    /// The power cuts that are planned, if any.
    #[serde(default)]
    pub cuts: Option<CutPlan>,
    /// How many seconds the run was estimated to take, before it began; `None` in records of an
    /// older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
    /// What the experiment asks for and can't be had: it is not in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// When it is judged, where it goes on until its findings are decided; `None` where it is judged
    /// once, of all its blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<Sequential>,
    /// What somebody else measured, which the experiment has beside its own; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Publication>,
    /// The limit on response times that the highest rate is looked for at; `None` where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<ResponseTimeLimit>,
    /// Which part of a plan it is, where several machines share one; `None` where it is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<PlanShard>,
    /// The machines of a run that was merged of shards; `None` for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
}

fn is_time(merit: &FigureOfMerit) -> bool {
    *merit == FigureOfMerit::Time
}

/// When a run is judged that goes on until its findings are decided: fixed before its first block, since
/// what is fixed later can be made to fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequential {
    /// The numbers of blocks of one condition (the levels of all factors but the compared one) at which
    /// it is judged, ascending; the last is the most that are run.
    pub looks: Vec<u32>,
    /// The confidence of each interval at each look.
    pub confidence: f64,
    /// How many comparisons that was chosen for.
    pub comparisons: u32,
    /// How many seconds the run may take, all sittings together; `None` for any number.
    pub max_time_s: Option<f64>,
    /// How many seconds it has taken so far.
    pub used_s: f64,
}

impl Run {
    /// The level of the plan that `level` of `factor` is an alias of, entered as `sqlite@again`.
    pub fn alias<'a>(&self, factor: &str, level: &'a str) -> Option<&'a str> {
        let (base, _) = level.rsplit_once('@')?;
        let (_, levels) = self.factors.iter().find(|(name, _)| name == factor)?;
        levels.iter().any(|known| known == base).then_some(base)
    }

    /// Whether an engine, by its name or by a level that is an alias of it, stores anything. One
    /// that is not known is taken to.
    pub fn stores(&self, engine: &str) -> bool {
        let name = self.alias("engine", engine).unwrap_or(engine);
        self.engines.iter().find(|fact| fact.name == name).is_none_or(|fact| fact.stores)
    }

    /// What the run began with.
    pub fn platform(&self) -> Platform {
        Platform {
            version: self.version.clone(),
            program_sha256: self.program_sha256.clone(),
            kernel: self.machine.kernel.clone(),
            kernel_version: self.machine.kernel_version.clone(),
        }
    }

    /// The version of bakeoff that ran a trial, by its place among all trials in the order in which they ran.
    pub fn version_of_trial(&self, place: usize) -> &str {
        let last = self.takeovers.iter().rfind(|it| it.trials as usize <= place);
        last.map_or(&self.version, |it| &it.by.version)
    }

    /// The machine that runs it: of a merged run the one that went on last.
    pub fn machine_now(&self) -> &Machine {
        let last = self.merged.as_ref().and_then(Merged::went_on_last);
        last.map_or(&self.machine, |last| &last.machine)
    }
}

/// Cells that can't be had, for one reason: they are not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The levels that don't go together; of all other factors, any level.
    pub levels: Levels,
    /// Why.
    pub why: String,
    /// Trials that are not run for it.
    pub trials: u32,
    /// Power cuts that are not made for it.
    pub cuts: u32,
}

/// Levels in words, the engine first: `sqlite × disk null × neighbours x1`.
pub fn in_words(levels: &Levels) -> String {
    let engine = levels.get("engine").cloned();
    let others = levels.iter().filter(|(factor, _)| *factor != "engine");
    let others = others.map(|(factor, level)| format!("{factor} {level}"));
    engine.into_iter().chain(others).collect::<Vec<_>>().join(" × ")
}

/// The settings that an engine was opened with under some terms, and that differ from its own
/// defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The engine's name.
    pub engine: String,
    /// The durability level.
    pub durability: String,
    /// The memory level.
    pub memory: String,
    /// The levels of options that are factors, by their names.
    #[serde(default, skip_serializing_if = "Levels::is_empty")]
    pub options: Levels,
    /// The settings.
    pub settings: Vec<AppliedSetting>,
}

/// A setting that differs from an engine's own default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedSetting {
    /// Its name, as the engine's users write it.
    pub name: String,
    /// Its value, as they write it.
    pub value: String,
    /// Why it differs; `None` for one of the user's own, from the experiment.
    pub reason: Option<String>,
}

/// What a report says of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFact {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Durability level and the settings that give it.
    pub settings: Vec<(String, String)>,
    /// Whether it stores anything; one that does not measures the harness, and is no contender.
    pub stores: bool,
    /// How it is spoken to, for a database on a server that somebody else runs.
    #[serde(default)]
    pub transport: Option<ConnectionSecurity>,
    /// Whether its password was in its URL: it is kept nowhere, so that who goes on with the run
    /// gives it again.
    #[serde(default)]
    pub password_in_url: bool,
}

/// How a connection to a server that somebody else runs is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionSecurity {
    /// It does not leave the machine.
    Local,
    /// It crosses a network as it is.
    Plain,
    /// By TLS, whoever it is that answers.
    Unverified,
    /// By TLS, of anybody who has a certificate of the named authority.
    Authority,
    /// By TLS, of the server with the URL's name or address.
    Verified,
}

/// The run, and how far it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// What was known before the first trial.
    #[serde(flatten)]
    pub run: Run,
    /// How it ended.
    pub status: Status,
    /// When it ended, in seconds since 1970; `None` while it is running, and when it was killed.
    pub ended_s: Option<f64>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is running, or was killed.
    Unfinished,
    /// It was asked to stop.
    Interrupted,
    /// All planned trials have ended.
    Finished,
}

impl Status {
    const NAMES: [(Self, &str); 3] = [
        (Self::Unfinished, "unfinished"),
        (Self::Interrupted, "interrupted"),
        (Self::Finished, "finished"),
    ];

    /// Its name, as in the JSON and in the tables.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(status, _)| *status)
    }
}
