//! Warnings about how bakeoff's program was built, and about changes of program or kernel during a
//! run.

use bakeoff_results::{Cut, Platform, Run, Takeover, TrialSummary, is_of_changed_files, short_sum};

use super::part_of;
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_debug_build(run: &Run) -> Option<Warning> {
    let text = "bakeoff was built without optimisation: its clients, and engines that run in the same \
                process, are slower than in an optimised build; servers are as fast as ever";
    let warning = Warning::new(WarningKind::DebugBuild, text);
    run.debug_build
        .then(|| warning.with_remedy("build it with `cargo build --release`, and run it again"))
}

pub(super) fn warn_of_uncommitted_changes(
    run: &Run,
    trials: &[TrialSummary],
    cuts: &[Cut],
) -> Option<Warning> {
    let ran = split_by_program(run, trials, cuts);
    let is_changed = match ran.is_empty() {
        true => is_of_changed_files(&run.version),
        false => ran.iter().any(|it| is_of_changed_files(&it.by.version)),
    };
    if !is_changed {
        return None;
    }
    let text =
        "this program was built from a tree with uncommitted changes: nobody else can build it";
    let warning = Warning::new(WarningKind::UncommittedBuild, text);
    Some(warning.with_remedy("commit the changes, build bakeoff anew, and run it again"))
}

struct ProgramStretch {
    by: Platform,
    trials: usize,
    cuts: usize,
}

fn split_by_program(run: &Run, trials: &[TrialSummary], cuts: &[Cut]) -> Vec<ProgramStretch> {
    let made: Vec<&Cut> = cuts.iter().filter(|cut| cut.failed.is_none()).collect();
    let ends = |of: fn(&Takeover) -> u32, all: usize| -> Vec<usize> {
        let starts = run.takeovers.iter().map(|it| (of(it) as usize).min(all));
        starts.chain([all]).collect()
    };
    let (trial_ends, cut_ends) =
        (ends(|it| it.trials, trials.len()), ends(|it| it.cuts, made.len()));
    let platforms =
        std::iter::once(run.platform()).chain(run.takeovers.iter().map(|it| it.by.clone()));
    let (mut trial, mut cut) = (0, 0);
    let all =
        platforms.zip(trial_ends.into_iter().zip(cut_ends)).map(|(by, (trial_end, cut_end))| {
            let of_trials = trials.get(trial..trial_end).unwrap_or_default();
            let of_cuts = cut_end.saturating_sub(cut);
            (trial, cut) = (trial_end, cut_end);
            let trials = of_trials.iter().filter(|it| it.valid).count();
            ProgramStretch { by, trials, cuts: of_cuts }
        });
    all.filter(|it| it.trials + it.cuts > 0).collect()
}

pub(super) fn warn_of_takeovers(
    run: &Run,
    trials: &[TrialSummary],
    cuts: &[Cut],
) -> Option<Warning> {
    let all = split_by_program(run, trials, cuts);
    let (first, later) = all.split_first().filter(|(_, later)| !later.is_empty())?;
    let (of_trials, of_cuts) =
        later.iter().fold((0, 0), |(trials, cuts), it| (trials + it.trials, cuts + it.cuts));
    let whole = |of: fn(&ProgramStretch) -> usize| all.iter().map(of).sum();
    let parts = [
        (of_trials > 0).then(|| part_of(of_trials, whole(|it| it.trials), "trial")),
        (of_cuts > 0).then(|| part_of(of_cuts, whole(|it| it.cuts), "power cut")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let is_other =
        |alike: fn(&Platform, &Platform) -> bool| later.iter().any(|it| !alike(&it.by, &first.by));
    let what = match (is_other(Platform::has_program_of), is_other(Platform::has_kernel_of)) {
        (true, true) => "another program of bakeoff under another kernel",
        (true, false) => "another program of bakeoff",
        (false, true) => "bakeoff under another kernel",
        (false, false) => return None,
    };
    let told: Vec<String> = all.iter().map(|it| in_words(&it.by)).collect();
    let text = format!(
        "{what} went on with the run, and ran {}: first it was {}; a block is of one of them, \
         figures of cells and ratios mix them",
        parts.join(" and "),
        told.join(", then ")
    );
    let remedy = "run it anew with one program under one kernel, if a decision depends on it";
    Some(Warning::new(WarningKind::AnotherBinary, text).with_remedy(remedy))
}

/// "0.1.0 (8693ee198), SHA-256 0123456789ab, kernel 6.1.0 (#1 SMP)".
fn in_words(platform: &Platform) -> String {
    let Platform { version, program_sha256, kernel, kernel_version } = platform;
    let sum = program_sha256.as_deref().map(|sum| format!(", SHA-256 {}", short_sum(sum)));
    let sum = sum.unwrap_or_default();
    let build = kernel_version.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{version}{sum}, kernel {kernel}{build}")
}
