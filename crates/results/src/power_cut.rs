//! A power cut as it is recorded: what was promised, and what each rule for what the cut leaves
//! has left.

use serde::{Deserialize, Serialize};

/// What the file system on the disk promises of names: how a power cut is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// One journal, as ext4 has: a commit makes all names durable that were changed before it.
    Ext4,
    /// POSIX and no more: a name is durable when its folder was synced.
    Posix,
}

impl FileSystem {
    /// How a user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Posix => "posix",
        }
    }
}

/// The factors by which promises differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseFactors {
    /// The one whose levels make a promise: `engine`; `disk` where files are written without one.
    pub who: String,
    /// The one whose levels say what is promised: `durability`; `sync` of files.
    pub what: String,
}

impl PromiseFactors {
    /// Whether engines promise, by levels of durability.
    pub fn is_of_engines(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for PromiseFactors {
    /// Those of engines.
    fn default() -> Self {
        Self { who: "engine".into(), what: "durability".into() }
    }
}

/// The power cuts of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutPlan {
    /// How many are planned, of all engines at all levels.
    pub planned: u32,
    /// The factors by which promises differ.
    #[serde(default, skip_serializing_if = "PromiseFactors::is_of_engines")]
    pub promise: PromiseFactors,
    /// The virtual disk that loses its power; the first of them where disks promise.
    pub disk: String,
    /// How many clients are at work then.
    pub clients: u32,
    /// The file systems that each cut is made on.
    pub file_systems: Vec<FileSystem>,
    /// Whether every moment of one history is cut: then there is one cut of each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
    /// The command that repeats a cut, but for the engine, the durability level, the file system
    /// where there is a choice, the rule and the cut's number, which follow as flags.
    pub command: String,
}

impl CutPlan {
    /// The command that repeats one cut of an engine, or of a disk, at a level, judged by one rule.
    pub fn repeat(
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
        let level = |factor: &str, level: &str| match factor {
            "engine" | "durability" | "disk" => format!("--{factor} {level}"),
            _ => format!("--factor {factor}={level}"),
        };
        let PromiseFactors { who, what } = &self.promise;
        let (who, what) = (level(who, engine), level(what, durability));
        format!("{} {who} {what}{file_system} --keep {keep} {which}", self.command)
    }
}

/// What a level of durability promises for a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promised {
    /// Nothing.
    Nothing,
    /// The rest is whole when the last commits are gone.
    Whole {
        /// No lost commit was acknowledged earlier than so many seconds before the cut; `None`
        /// where no such time is documented.
        window_s: Option<f64>,
        /// No more acknowledged commits than so many are lost; `None` where no such number is
        /// documented, and in records of an older bakeoff.
        #[serde(default)]
        most_lost: Option<u64>,
    },
    /// What was acknowledged is there, and all is whole.
    Everything,
}

/// A power cut, and what each rule for what it leaves has left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// The engine; the disk where files are written without one ([`CutPlan::promise`]).
    pub engine: String,
    /// The level of its promise: of durability; of files, when they are synced.
    pub durability: String,
    /// What the file system promised of names.
    pub file_system: FileSystem,
    /// What the level says.
    pub promised: Promised,
    /// How many clients were at work.
    pub clients: usize,
    /// Which of this engine's and level's cuts on that file system, from 0.
    pub number: u32,
    /// The work that the clients had done before any moment was waited for, until the engine's debts
    /// had turned over; `None` in every state but `steady`, and in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditioned: Option<Conditioned>,
    /// The seed that the moment and the images come from: it follows from the experiment's, the
    /// engine, the level and the number, so that it is the same on each file system.
    pub seed: u64,
    /// The moment that was drawn, in words.
    pub moment: String,
    /// What pays a debt, and the moment was placed in; `None` where it was drawn from all that the
    /// engine does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<PaymentCut>,
    /// How long the clients had been at work when the power went, in seconds: since moments were waited
    /// for, if something had conditioned the engine before.
    pub ran_s: f64,
    /// Transactions that were acknowledged before.
    pub acknowledged: u64,
    /// What was found, a rule each; empty when the cut failed.
    pub judged: Vec<JudgedImage>,
    /// How long recovery took on the experiment's disk; of one cut of each engine, level and file
    /// system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedRecovery>,
    /// Why it says nothing of what the level promises: it could not be made, or something went
    /// wrong before the power did.
    pub failed: Option<String>,
    /// Where it stands for every moment of a recorded history: what was tried. What was found by each
    /// rule is the worst image then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<EveryMoment>,
}

/// Images of every moment of a recorded history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EveryMoment {
    /// Writes in the history, changes of files' sizes among them.
    pub writes: u64,
    /// Syncs of files and folders in it.
    pub syncs: u64,
    /// Changes of names in it.
    pub names: u64,
    /// Moments of it: before and after each of these, and before each other thing that makes something
    /// durable.
    pub moments: u64,
    /// Images that were drawn, by all rules, from several seeds.
    pub drawn: u64,
    /// How many of them differ: those alike are judged once, by the latest moment that has them.
    pub distinct: u64,
    /// How many images may be judged.
    pub budget: u64,
    /// How many were: all that differ, or as many as may be, evenly among the moments.
    pub judged: u64,
    /// How many of these held less than was promised.
    pub broken: u64,
    /// How many of those that seemed broken were found whole by a process of their own.
    pub unconfirmed: u64,
    /// How long all of it took, in seconds.
    pub took_s: f64,
    /// What was found, a rule each. An image that several rules drew counts for each of them.
    pub rules: Vec<EveryByRule>,
}

/// What images of every moment were by one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EveryByRule {
    /// The rule.
    pub keep: String,
    /// How many different ones it drew.
    pub distinct: u64,
    /// How many of these were judged.
    pub judged: u64,
    /// Of these, how many had lost an acknowledged transaction.
    pub lost: u64,
    /// How many held less than was promised.
    pub broken: u64,
    /// The first of those.
    pub first: Option<FirstBroken>,
}

/// The first moment of a history at which less was there than was promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBroken {
    /// The moment: after so many events.
    pub moment: u64,
    /// What the power's going interrupted, in words.
    pub during: String,
    /// What the image was drawn from.
    pub seed: u64,
}

/// The recovery of one crash image on the experiment's disk, which takes its time, from cold caches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimedRecovery {
    /// The rule that the image was made by.
    pub keep: String,
    /// The disk.
    pub disk: String,
    /// Seconds until the engine was open.
    pub open_s: Option<f64>,
    /// Seconds, from the same start, until a client's first operation had ended.
    pub answer_s: Option<f64>,
    /// Seconds of these in which the disk was at work.
    pub device_s: Option<f64>,
    /// Why it took no time that could be told.
    pub failed: Option<String>,
}

/// The work that pays a debt, as a place for a cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentCut {
    /// What the engine does then, in the singular: "checkpoint".
    pub payment: String,
    /// Whether it came to that moment in time; if not, the power went later, whatever the engine did.
    pub came: bool,
}

/// What was done before a cut at `steady`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditioned {
    /// Operations of all clients, as far as they had been counted then.
    pub operations: u64,
    /// How long that took, in seconds: the disk took no time.
    pub seconds: f64,
    /// How far each debt had turned over when it ended.
    pub turns: Vec<TurnedOver>,
}

/// How far a debt had come in being run up and paid for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedOver {
    /// What turns over, in the engine's words.
    pub name: String,
    /// How far it was.
    pub done: u64,
    /// What makes one whole turn, in the same unit.
    pub whole: u64,
}

/// What one crash image held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedImage {
    /// The rule that it was made by.
    pub keep: String,
    /// The second cut, where there was one.
    pub again: Option<Again>,
    /// What was found.
    pub verdict: AuditResult,
    /// Where the image was kept, if it was.
    pub image: Option<String>,
}

/// The power going a second time, while the engine recovered from the first cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// When it went, in words.
    pub moment: String,
    /// Whether that was before everything had been recovered, checked and read.
    pub in_time: bool,
}

/// What the audit of one crash image found. Counts are of transactions, for lost ones, holes and some
/// phantoms, else of rows; of files without an engine, of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditResult {
    /// Acknowledged and not there.
    pub lost: u64,
    /// How long before the cut the first of these was acknowledged, in seconds.
    pub oldest_lost_s: Option<f64>,
    /// There and never sent.
    pub phantom: u64,
    /// A part of a transaction.
    pub torn: u64,
    /// Gone, while a later transaction of the same client is there.
    pub hole: u64,
    /// Found by key and not by an index, or the other way round.
    pub index_broken: u64,
    /// Why the engine would not start, or what its own check says.
    pub corrupt: Option<String>,
    /// How long it took to open the engine; `None` when that failed.
    pub recovery_s: Option<f64>,
    /// The first findings, in words.
    pub examples: Vec<String>,
}

impl AuditResult {
    /// Whether nothing but the last commits is missing.
    pub fn is_whole(&self) -> bool {
        let wrong = [self.phantom, self.torn, self.hole, self.index_broken];
        wrong == [0; 4] && self.corrupt.is_none()
    }

    /// Whether this is less than what was promised.
    pub fn breaks(&self, promised: Promised) -> bool {
        match promised {
            Promised::Nothing => false,
            Promised::Whole { window_s, most_lost } => {
                let late = |(oldest, window)| oldest > window;
                !self.is_whole()
                    || self.oldest_lost_s.zip(window_s).is_some_and(late)
                    || most_lost.is_some_and(|most| self.lost > most)
            }
            Promised::Everything => !self.is_whole() || self.lost > 0,
        }
    }
}

impl Cut {
    /// What was found and is less than what was promised.
    pub fn broken(&self) -> impl Iterator<Item = &JudgedImage> {
        self.judged.iter().filter(|judged| judged.verdict.breaks(self.promised))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(window_s: Option<f64>, most_lost: Option<u64>) -> Promised {
        Promised::Whole { window_s, most_lost }
    }

    #[test]
    fn a_promise_is_broken_by_less_than_it_says() {
        let clean = AuditResult::default();
        let lost = AuditResult { lost: 2, oldest_lost_s: Some(0.9), ..clean.clone() };
        let torn = AuditResult { torn: 1, ..clean.clone() };
        let corrupt = AuditResult { corrupt: Some("it does not start".into()), ..clean.clone() };
        for verdict in [&clean, &lost, &torn, &corrupt] {
            assert!(!verdict.breaks(Promised::Nothing));
        }
        assert!(!clean.breaks(Promised::Everything));
        assert!(lost.breaks(Promised::Everything));
        for verdict in [torn, corrupt] {
            assert!(verdict.breaks(Promised::Everything) && verdict.breaks(whole(None, None)));
        }
    }

    #[test]
    fn losses_are_bounded_by_their_age_and_by_their_number() {
        let lost = AuditResult { lost: 2, oldest_lost_s: Some(0.9), ..AuditResult::default() };
        for (window_s, most_lost, broken) in [
            (None, None, false),
            (Some(1.0), None, false),
            (Some(0.5), None, true),
            (None, Some(2), false),
            (None, Some(1), true),
            (Some(1.0), Some(1), true),
            (Some(0.5), Some(2), true),
        ] {
            let promised = whole(window_s, most_lost);
            assert_eq!(lost.breaks(promised), broken, "{promised:?}");
            assert!(!AuditResult::default().breaks(promised));
        }
    }

    #[test]
    fn a_cut_names_its_file_system_where_there_is_a_choice() {
        let plan = CutPlan {
            planned: 1,
            promise: PromiseFactors::default(),
            disk: "null".to_owned(),
            clients: 4,
            file_systems: vec![FileSystem::Ext4],
            every: false,
            command: "b run x".to_owned(),
        };
        let repeat =
            |plan: &CutPlan, file_system| plan.repeat("e", "strict", file_system, "torn", 3);
        let again = "b run x --engine e --durability strict --keep torn --cut-number 3";
        assert_eq!(repeat(&plan, FileSystem::Ext4), again);
        let every = CutPlan { every: true, ..plan.clone() };
        assert!(
            repeat(&every, FileSystem::Ext4)
                .ends_with("torn --repetitions 0 --cuts every --keep-images")
        );
        let both = CutPlan { file_systems: vec![FileSystem::Ext4, FileSystem::Posix], ..plan };
        for file_system in [FileSystem::Ext4, FileSystem::Posix] {
            let flag = format!(" --file-system {} --keep", file_system.name());
            assert_eq!(repeat(&both, file_system), again.replace(" --keep", &flag));
        }
    }

    #[test]
    fn a_cut_of_a_disk_is_repeated_on_that_disk_with_its_syncs() {
        let promise = PromiseFactors { who: "disk".into(), what: "sync".into() };
        let plan = CutPlan {
            planned: 1,
            promise,
            disk: "null".to_owned(),
            clients: 1,
            file_systems: vec![FileSystem::Ext4],
            every: false,
            command: "b run fileio".to_owned(),
        };
        assert_eq!(
            plan.repeat("ssd-sata/barrier=0", "dsync", FileSystem::Ext4, "torn", 3),
            "b run fileio --disk ssd-sata/barrier=0 --factor sync=dsync --keep torn --cut-number 3"
        );
        let json = serde_json::to_value(&plan).unwrap();
        assert_eq!(json["promise"], serde_json::json!({ "who": "disk", "what": "sync" }));
        let of_engines = CutPlan { promise: PromiseFactors::default(), ..plan };
        let json = serde_json::to_value(&of_engines).unwrap();
        assert_eq!(json.get("promise"), None, "as it was before disks could promise");
        assert_eq!(serde_json::from_value::<CutPlan>(json).unwrap(), of_engines);
    }

    #[test]
    fn a_promise_that_an_older_bakeoff_recorded_bounds_no_number() {
        let old: Promised = serde_json::from_str(r#"{"whole":{"window_s":1.5}}"#).unwrap();
        assert_eq!(old, whole(Some(1.5), None));
    }
}
