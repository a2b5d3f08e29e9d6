//! Short names of warnings, for the first screen.

use bakeoff_analysis::{Warning, WarningKind};

pub const SECTION: &str = "mislead";

pub fn name_kind(kind: WarningKind) -> &'static str {
    use WarningKind::*;
    match kind {
        NotSynced => "Commits not synced",
        PromiseBroken => "Promise broken",
        DataInMemory => "Data in memory",
        DiskCalls => "Virtual disk’s calls",
        AnswersDiffer => "Answers differ",
        CheckFailed => "Broken data",
        NotKeptUp => "Rate not kept",
        ClientsBusy => "Clients too busy",
        NeverSteady => "Never steady",
        ClientsWaited | ServersWaited | ShortOfProcessors => "Too few processors",
        ClientsWaitedAlike | ServersWaitedAlike => "Waits for processors",
        NotTurnedOver => "Short preconditioning",
        ConditionedAnew => "Unlike beginnings",
        LeftOut => "Cells left out",
        TrialsFailed => "Failed trials",
        TrialsNotCounted => "Trials not counted",
        ExternalServer => "External server",
        WithoutTls => "No TLS",
        NotVerified => "Certificate not verified",
        DebugBuild => "Debug build",
        UncommittedBuild => "Uncommitted build",
        AnotherBinary => "Program changed",
        BusyAtStart | MachineShared => "Busy machine",
        Disturbed => "Disturbed trials",
        MachineDrifted => "Machine drifted",
        FromCache => "Page cache measured",
        CacheNotKnown => "Cache not known",
        MachinesDisagree => "Machines disagree",
        DisksDiffer => "Disks differ",
        Noise => "Differs from itself",
        BlocksCorrelated => "Blocks hang together",
        FirstPlace => "First trial differs",
        CutOff => "Operations cut off",
        DrainCutOff => "Drain cut off",
        WindowWentOn => "Unequal windows",
        NotBatch => "Client scheduling",
        TwoPlacements => "Unlike placement",
        Stalled => "Stalled trials",
        Errors => "Errors",
        UnequalWork => "Unequal work",
        NeighboursStarved => "Unequal background I/O",
        DiskLate => "Disk late",
        DiskTooFast => "Disk too fast",
        TimedDiskChanged => "Timed disk changed",
        ClientsStarved => "Clients starved",
        RatesNotCounted => "Rates not counted",
        TimeMissing => "Time missing",
        WarmUp | WarmUpDecides => "Short warm-up",
        NotSettled | CannotTellSettled => "Rate not settled",
        TooFewOperations | FewOperations => "Short trials",
        ClocksDiffer => "Clocks differ",
        Retries => "Retries",
        PathsTaken => "Paths of scripts",
        QuantileLeftOut => "No p99",
        SetAside => "Blocks run again",
        SetAsideDecides => "Set-aside trials decide",
        CutsLeftOut => "Cuts left out",
    }
}

/// Adds the consequence if the name alone doesn't say it.
pub fn phrase_kind(kind: WarningKind) -> String {
    let (first, rest) = name_kind(kind).split_at(1);
    let follows = match kind {
        WarningKind::DataInMemory => ": no commit outlives a power cut",
        _ => "",
    };
    first.to_lowercase() + rest + follows
}

/// Without the worst place and the remedy.
pub fn shorten_warning(warning: &Warning) -> String {
    const ENDS: [&str; 5] = [", at worst", ", first at", "; ", ": ", " ("];
    let text = warning.text.as_str();
    let end = ENDS.iter().filter_map(|end| text.find(end)).min();
    format!("{}.", text[..end.unwrap_or(text.len())].trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_three_words_at_most() {
        for kind in WarningKind::ALL {
            assert!((1..=3).contains(&name_kind(*kind).split(' ').count()), "{kind:?}");
        }
    }

    #[test]
    fn a_gist_is_a_sentence_without_the_worst_place() {
        let of = |text: &str| shorten_warning(&Warning::new(WarningKind::Errors, text));
        assert_eq!(
            of("in 2 of 9 trials it waited, at worst 30 %, at x: so"),
            "In 2 of 9 trials it waited."
        );
        assert_eq!(of("it was busy"), "It was busy.");
    }
}
