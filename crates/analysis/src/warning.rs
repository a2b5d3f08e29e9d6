//! Warnings for the reader: their kinds, and how much a finding suffers from each.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The figures concerned say nothing about what is compared.
    Voids,
    /// The figures concerned are worth less than they look.
    Weakens,
    /// No figure is wrong, but a reader should know it.
    Notes,
}

impl Weight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Voids => "voids",
            Self::Weakens => "weakens",
            Self::Notes => "notes",
        }
    }
}

/// A line for each kind: its name, its code, its weight, and when a run has it.
macro_rules! kinds {
    ($($name:ident, $code:literal, $weight:ident, $about:literal;)*) => {
        /// Kinds of one weight are listed in the order in which they are shown.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WarningKind {
            $(#[doc = $about] $name,)*
        }

        impl WarningKind {
            /// The worst first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in the document: never changes.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            pub fn weight(self) -> Weight {
                match self { $(Self::$name => Weight::$weight,)* }
            }

            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}

kinds! {
    NotSynced, "not-synced", Voids, "an engine did not sync for commits that it promised to keep";
    PromiseBroken, "promise-broken", Voids, "a power cut took more of a cell than its level of durability allows, or left damage";
    DiskCalls, "disk-calls", Voids, "calls of the virtual disk took much of the clients’ time";
    DataInMemory, "data-in-memory", Voids, "commits were promised to be kept, and the data lay in memory";
    AnswersDiffer, "answers-differ", Voids, "engines did not answer alike when they were asked the same";
    CheckFailed, "check-failed", Voids, "what a trial left was broken, by the engine’s own check or the workload’s";
    NotKeptUp, "not-kept-up", Voids, "a cell did not keep up with its rate";
    ClientsBusy, "clients-busy", Voids, "the clients used most of the processor time that they could have";
    NeverSteady, "never-steady", Voids, "a trial that was to be steady was not";
    ClientsWaited, "clients-waited", Voids, "the clients’ threads waited for a processor in an open loop";
    ServersWaited, "servers-waited", Voids, "the engine’s processes or the disk’s daemon waited for a processor in an open loop";
    NotTurnedOver, "not-turned-over", Voids, "deferred work had not been through one cycle when a steady trial began";
    FromCache, "from-cache", Voids, "the page cache answered most reads of files, or kept most of what was written to them";
    ShortOfProcessors, "short-of-processors", Weakens, "comparisons have no verdict: without the waiting for a processor it could be another";
    ConditionedAnew, "conditioned-anew", Weakens, "trials of a block did not follow their preconditioning in the same place";
    LeftOut, "left-out", Weakens, "cells could not be run";
    TrialsFailed, "trials-failed", Weakens, "trials failed";
    TrialsNotCounted, "trials-not-counted", Weakens, "trials ended, but do not count";
    ExternalServer, "external-server", Weakens, "an engine is on a server that somebody else runs";
    WithoutTls, "without-tls", Weakens, "what is sent to a server crosses the network without TLS";
    NotVerified, "not-verified", Weakens, "the certificate of a server is not verified";
    DebugBuild, "debug-build", Weakens, "bakeoff was built without optimisation";
    UncommittedBuild, "uncommitted-build", Weakens, "bakeoff was built from files that were changed since their commit";
    AnotherBinary, "another-binary", Weakens, "another program of bakeoff, or another kernel, went on with the run";
    BusyAtStart, "busy-at-start", Weakens, "the machine was busy when the run began";
    Disturbed, "disturbed", Weakens, "blocks that were measured on a disturbed machine count";
    MachineShared, "machine-shared", Weakens, "others used the machine’s processors while the clients ran";
    MachineDrifted, "machine-drifted", Weakens, "the machine itself changed during the run";
    MachinesDisagree, "machines-disagree", Weakens, "the machines of a merged run disagree on a ratio";
    DisksDiffer, "disks-differ", Weakens, "trials of a merged run stand on another disk than the rest";
    Noise, "noise", Weakens, "a level that was entered twice differs from itself";
    BlocksCorrelated, "blocks-correlated", Weakens, "the ratios of successive blocks hang together";
    FirstPlace, "first-place", Weakens, "the first trial of a block took longer, or less long";
    CutOff, "cut-off", Weakens, "operations were still running when their trial was cut off";
    DrainCutOff, "drain-cut-off", Weakens, "a drain took longer than the clients had run";
    WindowWentOn, "window-went-on", Weakens, "a window went on until enough operations of each kind had ended: 20, or five rounds of syncs";
    TwoPlacements, "two-placements", Weakens, "in some trials of a cell alone client and server shared a processor";
    Stalled, "stalled", Weakens, "a trial’s mean is far from its cell’s";
    Errors, "errors", Weakens, "operations ended in an error";
    UnequalWork, "unequal-work", Weakens, "operations took other paths through their scripts on one engine: it did less work";
    NeighboursStarved, "neighbours-starved", Weakens, "the background I/O got less done than beside another level of the block";
    DiskLate, "disk-late", Weakens, "the virtual disk did not keep its model’s time";
    DiskTooFast, "disk-too-fast", Weakens, "the modelled disk is about as fast as a virtual one can be";
    TimedDiskChanged, "timed-disk-changed", Weakens, "a disk that a model is like flushed slower or faster after the run, by more than half";
    ClientsStarved, "clients-starved", Weakens, "some clients waited while others were served again: latencies hold more time than the clients had";
    RatesNotCounted, "rates-not-counted", Weakens, "rates follow from latencies, since an older bakeoff kept too little to count them";
    TimeMissing, "time-missing", Weakens, "the latencies do not add up to the clients’ time";
    WarmUp, "warm-up", Weakens, "the start of a trial is unlike the rest for longer than the warm-up that is left out";
    NotSettled, "not-settled", Weakens, "the operations a second had not settled when a trial ended";
    WarmUpDecides, "warm-up-decides", Weakens, "ratios would leave their interval, or have another verdict, if the warm-up counted";
    SetAsideDecides, "set-aside-decides", Weakens, "ratios would be others if the trials that were set aside counted";
    TooFewOperations, "too-few-operations", Weakens, "a trial has too few operations of a kind for a verdict";
    FewOperations, "few-operations", Weakens, "a trial has so few operations of a kind that their mean is rough";
    ClientsWaitedAlike, "clients-waited-alike", Notes, "the clients’ threads waited for a processor, and no verdict could be another without it";
    ServersWaitedAlike, "servers-waited-alike", Notes, "the same of the engine’s processes or the disk’s daemon";
    NotBatch, "not-batch", Notes, "the system did not schedule the clients’ threads as batch work";
    CacheNotKnown, "cache-not-known", Notes, "nobody counted which of the clients’ reads and writes of files reached a device";
    CannotTellSettled, "cannot-tell-settled", Notes, "the operations a second vary too much to tell whether they had settled";
    ClocksDiffer, "clocks-differ", Notes, "parts of a merged run have times that can’t be by the clock of their machine";
    Retries, "retries", Notes, "transactions were run again after a conflict, or requests on a new connection";
    PathsTaken, "paths-taken", Notes, "operations were rolled back by their scripts, skipped, found no row or began again";
    QuantileLeftOut, "quantile-left-out", Notes, "an operation’s p99 is known of some cells only";
    SetAside, "set-aside", Notes, "trials were set aside, and their blocks run again";
    CutsLeftOut, "cuts-left-out", Notes, "another run’s power cuts say nothing of an engine in this one";
}

/// About a run as a whole: at most one of each kind, with how often it occurs and where it is
/// worst.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenWarning", try_from = "WrittenWarning")]
pub struct Warning {
    pub kind: WarningKind,
    pub text: String,
    pub remedy: Option<String>,
}

impl Warning {
    /// `text` becomes a sentence.
    pub fn new(kind: WarningKind, text: impl AsRef<str>) -> Self {
        Self { kind, text: to_sentence(text.as_ref()), remedy: None }
    }

    pub fn with_remedy(self, remedy: impl AsRef<str>) -> Self {
        Self { remedy: Some(to_sentence(remedy.as_ref())), ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.remedy.iter().try_for_each(|remedy| write!(f, " {remedy}"))
    }
}

pub(crate) fn sort(warnings: &mut [Warning]) {
    warnings.sort_by_key(|warning| (warning.kind.weight(), warning.kind));
}

fn to_sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}

#[derive(Serialize, Deserialize)]
struct WrittenWarning {
    code: String,
    weight: Weight,
    text: String,
    remedy: Option<String>,
}

impl From<Warning> for WrittenWarning {
    fn from(Warning { kind, text, remedy }: Warning) -> Self {
        Self { code: kind.code().to_owned(), weight: kind.weight(), text, remedy }
    }
}

impl TryFrom<WrittenWarning> for Warning {
    type Error = String;

    fn try_from(WrittenWarning { code, text, remedy, .. }: WrittenWarning) -> Result<Self, String> {
        let kind = WarningKind::ALL.iter().find(|kind| kind.code() == code);
        let kind = *kind.ok_or_else(|| format!("there is no warning `{code}`"))?;
        Ok(Self { kind, text, remedy })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_kinds_stand_by_their_weight() {
        let codes: BTreeSet<&str> = WarningKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), WarningKind::ALL.len());
        let plain = |code: &&str| code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(codes.iter().all(plain), "{codes:?}");
        assert!(WarningKind::ALL.is_sorted_by_key(|kind| kind.weight()));
    }

    #[test]
    fn the_worst_comes_first() {
        let text = |kind, text| Warning::new(kind, text);
        let mut warnings = [
            text(WarningKind::Retries, "a"),
            text(WarningKind::Noise, "b"),
            text(WarningKind::ClientsBusy, "c"),
            text(WarningKind::Retries, "d"),
            text(WarningKind::NotSynced, "e").with_remedy("sync"),
        ];
        sort(&mut warnings);
        assert_eq!(warnings.map(|it| it.to_string()), ["E. Sync.", "C.", "B.", "A.", "D."]);
    }
}
