//! The record of a power cut: the promise, and what each rule left.

use serde::{Deserialize, Serialize};

use crate::own_factor::OwnFactor;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// Like ext4's journal: a commit makes all earlier changes of names durable.
    Ext4,
    /// Only POSIX: a name is durable when its folder was synced.
    Posix,
}

impl FileSystem {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Posix => "posix",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseFactors {
    /// `engine`, or `disk` for files without an engine.
    pub who: String,
    /// `durability`, or `sync` for files.
    pub what: String,
}

impl PromiseFactors {
    /// Whether engines make the promises, by durability.
    pub fn is_of_engines(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for PromiseFactors {
    fn default() -> Self {
        Self { who: OwnFactor::Engine.to_string(), what: OwnFactor::Durability.to_string() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutPlan {
    pub planned: u32,
    #[serde(default, skip_serializing_if = "PromiseFactors::is_of_engines")]
    pub promise: PromiseFactors,
    /// The virtual disk; the first of several if disks promise.
    pub disk: String,
    pub clients: u32,
    pub file_systems: Vec<FileSystem>,
    /// Whether one history is cut at every moment: then it is one cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
    /// Repeats a cut, with flags for engine, durability, file system if there are several, rule and
    /// number.
    pub command: String,
}

impl CutPlan {
    pub fn repeat_command(
        &self,
        engine: &str,
        durability: &str,
        file_system: FileSystem,
        keep: &str,
        number: u32,
    ) -> String {
        let only = self.file_systems.iter().all(|it| *it == FileSystem::Ext4);
        let file_system = match file_system {
            FileSystem::Ext4 if only => String::new(),
            file_system => format!(" --file-system {}", file_system.name()),
        };
        let which = match self.every {
            true => "--repetitions 0 --cuts every --keep-images".to_owned(),
            false => format!("--cut-number {number}"),
        };
        let level = |factor: &str, level: &str| match OwnFactor::from_name(factor) {
            Some(OwnFactor::Engine | OwnFactor::Durability | OwnFactor::Disk) => {
                format!("--{factor} {level}")
            }
            _ => format!("--factor {factor}={level}"),
        };
        let PromiseFactors { who, what } = &self.promise;
        let (who, what) = (level(who, engine), level(what, durability));
        format!("{} {who} {what}{file_system} --keep {keep} {which}", self.command)
    }
}

/// The promise of a durability level for a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityPromise {
    Nothing,
    Whole {
        /// Lost commits were acknowledged at most so many seconds before the cut; `None` if
        /// undocumented.
        window_s: Option<f64>,
        /// At most so many acknowledged commits are lost; `None` if undocumented, and in older
        /// records.
        #[serde(default)]
        most_lost: Option<u64>,
    },
    /// All acknowledged commits are there, and all is whole.
    Everything,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    pub engine: String,
    /// The level of the promise: of durability, or of when files are synced.
    pub durability: String,
    pub file_system: FileSystem,
    pub promised: DurabilityPromise,
    pub clients: usize,
    /// Among the cuts of this engine, level and file system, from 0.
    pub number: u32,
    /// Work before the moment was chosen, until debts had turned over; `None` unless `steady`, and
    /// in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditioned: Option<Conditioned>,
    /// The seed of the moment and the images: made from the experiment's seed, the engine, the
    /// level and the number, the same for each file system.
    pub seed: u64,
    pub moment: String,
    /// The payment that the moment was placed in; `None` if drawn from all events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<PaymentCut>,
    /// Seconds of the clients' work before the cut, without conditioning.
    pub ran_s: f64,
    pub acknowledged: u64,
    /// By rule; empty if the cut failed.
    pub judged: Vec<JudgedImage>,
    /// For one cut of each engine, level and file system, on the experiment's disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedRecovery>,
    /// Why the cut says nothing: it could not be made, or something failed before.
    pub failed: Option<String>,
    /// For all moments of a recorded history; `judged` then has each rule's worst image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryMoment>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EveryMoment {
    /// Changes of files' sizes included.
    pub writes: u64,
    pub syncs: u64,
    pub names: u64,
    /// Before and after each of these, and before anything else that makes data durable.
    pub moments: u64,
    /// By all rules and seeds.
    pub drawn: u64,
    /// Different images among the drawn ones. Equal ones are judged once, at their latest moment.
    pub distinct: u64,
    pub budget: u64,
    /// All distinct ones, or evenly spread ones within the budget.
    pub judged: u64,
    /// Judged images with less than was promised.
    pub broken: u64,
    /// Broken ones that a process of its own found whole.
    pub unconfirmed: u64,
    pub took_s: f64,
    /// An image of several rules counts for each.
    pub rules: Vec<EveryByRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EveryByRule {
    pub keep: String,
    pub distinct: u64,
    pub judged: u64,
    pub lost: u64,
    pub broken: u64,
    pub first: Option<FirstBroken>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBroken {
    /// The number of events before it.
    pub moment: u64,
    pub during: String,
    pub seed: u64,
}

/// The recovery of one crash image on the experiment's disk, from cold caches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimedRecovery {
    pub keep: String,
    pub disk: String,
    /// Until the engine was open.
    pub open_s: Option<f64>,
    /// From the same start until a client's first operation had ended.
    pub answer_s: Option<f64>,
    /// The part of these seconds in which the disk worked.
    pub device_s: Option<f64>,
    pub failed: Option<String>,
}

/// Work that pays a debt, as a place for a cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentCut {
    /// In the singular: "checkpoint".
    pub payment: String,
    /// If not, the cut came later, whatever the engine did.
    pub came: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditioned {
    /// Operations of all clients, as far as counted.
    pub operations: u64,
    /// The disk took no time.
    pub seconds: f64,
    pub turns: Vec<DebtTurnover>,
}

/// How far a debt had been run up and paid for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebtTurnover {
    pub name: String,
    pub done: u64,
    /// One whole turn, in the same unit.
    pub whole: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedImage {
    pub keep: String,
    pub again: Option<Again>,
    pub verdict: AuditResult,
    pub image: Option<String>,
}

/// A second cut during the recovery from the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// When it went, in words.
    pub moment: String,
    /// Whether it went before all was recovered, checked and read.
    pub in_time: bool,
}

/// Counts of transactions for lost ones, holes and some phantoms; else of rows; for files without
/// an engine, of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditResult {
    /// Acknowledged and missing.
    pub lost: u64,
    /// How long before the cut the oldest lost operation was acknowledged.
    pub oldest_lost_s: Option<f64>,
    /// Never sent.
    pub phantom: u64,
    pub torn: u64,
    /// Missing, while a later one of the same client is there.
    pub hole: u64,
    /// Found by key and not by an index, or the other way round.
    pub index_broken: u64,
    /// Why the engine did not start, or what its check says.
    pub corrupt: Option<String>,
    /// `None` if the engine did not open.
    pub recovery_s: Option<f64>,
    pub examples: Vec<String>,
}

impl AuditResult {
    pub fn is_whole(&self) -> bool {
        let wrong = [self.phantom, self.torn, self.hole, self.index_broken];
        wrong == [0; 4] && self.corrupt.is_none()
    }

    pub fn breaks_promise(&self, promised: DurabilityPromise) -> bool {
        match promised {
            DurabilityPromise::Nothing => false,
            DurabilityPromise::Whole { window_s, most_lost } => {
                let late = |(oldest, window)| oldest > window;
                !self.is_whole()
                    || self.oldest_lost_s.zip(window_s).is_some_and(late)
                    || most_lost.is_some_and(|most| self.lost > most)
            }
            DurabilityPromise::Everything => !self.is_whole() || self.lost > 0,
        }
    }
}

impl Cut {
    pub fn broken_images(&self) -> impl Iterator<Item = &JudgedImage> {
        self.judged.iter().filter(|judged| judged.verdict.breaks_promise(self.promised))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(window_s: Option<f64>, most_lost: Option<u64>) -> DurabilityPromise {
        DurabilityPromise::Whole { window_s, most_lost }
    }

    #[test]
    fn a_promise_is_broken_by_less_than_it_says() {
        let clean = AuditResult::default();
        let lost = AuditResult { lost: 2, oldest_lost_s: Some(0.9), ..clean.clone() };
        let torn = AuditResult { torn: 1, ..clean.clone() };
        let corrupt = AuditResult { corrupt: Some("it does not start".into()), ..clean.clone() };
        // Whether what is lost breaks it: it is bounded by its age and by its number.
        for (promise, broken) in [
            (DurabilityPromise::Everything, true),
            (whole(None, None), false),
            (whole(Some(1.0), None), false),
            (whole(Some(0.5), None), true),
            (whole(None, Some(2)), false),
            (whole(None, Some(1)), true),
            (whole(Some(1.0), Some(1)), true),
            (whole(Some(0.5), Some(2)), true),
        ] {
            let breaks = [&clean, &lost, &torn, &corrupt].map(|it| it.breaks_promise(promise));
            assert_eq!(breaks, [false, broken, true, true], "{promise:?}");
        }
        for verdict in [&clean, &lost, &torn, &corrupt] {
            assert!(!verdict.breaks_promise(DurabilityPromise::Nothing));
        }
    }

    #[test]
    fn a_cut_is_repeated_with_what_was_a_choice() {
        let engines = CutPlan {
            planned: 1,
            promise: PromiseFactors::default(),
            disk: "null".to_owned(),
            clients: 4,
            file_systems: vec![FileSystem::Ext4],
            every: false,
            command: "b run x".to_owned(),
        };
        let file_systems = vec![FileSystem::Ext4, FileSystem::Posix];
        let every = CutPlan { every: true, ..engines.clone() };
        let both = CutPlan { file_systems, ..engines.clone() };
        let promise = PromiseFactors { who: "disk".into(), what: "sync".into() };
        let disks = CutPlan { promise, ..engines.clone() };
        let (ext4, posix) = (FileSystem::Ext4, FileSystem::Posix);
        for (plan, file_system, promise, cut) in [
            (&engines, ext4, "--engine e --durability dsync", "--cut-number 3"),
            (
                &every,
                ext4,
                "--engine e --durability dsync",
                "--repetitions 0 --cuts every --keep-images",
            ),
            (&both, ext4, "--engine e --durability dsync --file-system ext4", "--cut-number 3"),
            (&both, posix, "--engine e --durability dsync --file-system posix", "--cut-number 3"),
            (&disks, ext4, "--disk e --factor sync=dsync", "--cut-number 3"),
        ] {
            let again = plan.repeat_command("e", "dsync", file_system, "torn", 3);
            assert_eq!(again, format!("b run x {promise} --keep torn {cut}"));
        }
        let json = serde_json::to_value(&disks).unwrap();
        assert_eq!(json["promise"], serde_json::json!({ "who": "disk", "what": "sync" }));
        let json = serde_json::to_value(&engines).unwrap();
        assert_eq!(json.get("promise"), None, "as it was before disks could promise");
        assert_eq!(serde_json::from_value::<CutPlan>(json).unwrap(), engines);
    }

    #[test]
    fn a_promise_that_an_older_bakeoff_recorded_bounds_no_number() {
        let old: DurabilityPromise = serde_json::from_str(r#"{"whole":{"window_s":1.5}}"#).unwrap();
        assert_eq!(old, whole(Some(1.5), None));
    }
}
