//! What a reader is warned of bakeoff's own program: that nobody can build it, and that it was not one alone.

use crate::data::{TrialGenerator, run};
use crate::power::cuts;
use bakeoff_analysis::{Warning, WarningKind, Weight, document};
use bakeoff_results::{Cut, Platform, Run, RunFolder, Takeover, Trial};

/// What went on after so many trials and power cuts.
fn taken(program: &str, kernel: &str, trials: u32, cuts: u32) -> Takeover {
    let by = Platform {
        version: "0.0.0".into(),
        program_sha256: Some(program.repeat(64)),
        kernel: kernel.into(),
        kernel_version: None,
    };
    Takeover { by, trials, cuts }
}

/// A run that the program `aaa` began under the kernel 6.1.
fn began(takeovers: Vec<Takeover>) -> Run {
    let mut run = run(&["1"], &["0"], 16);
    run.program_sha256 = Some("a".repeat(64));
    run.machine.kernel = "6.1".into();
    Run { takeovers, ..run }
}

/// Two blocks of four trials.
fn blocks() -> Vec<Trial> {
    let mut generator = TrialGenerator::new(3, 10);
    (0..2).flat_map(|block| generator.block(block, block, ["1", "0"])).collect()
}

/// The warning of that kind.
fn warned(kind: WarningKind, run: &Run, trials: &[Trial], cuts: &[Cut]) -> Option<Warning> {
    let dir = crate::place();
    let mut folder = RunFolder::create(&dir.path().join("run"), run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    cuts.iter().for_each(|cut| folder.commit_cut(cut).unwrap());
    let warnings = document(&folder).unwrap().warnings;
    warnings.into_iter().find(|warning| warning.kind == kind)
}

fn another(takeovers: Vec<Takeover>, trials: &[Trial], cuts: &[Cut]) -> String {
    let warning = warned(WarningKind::AnotherBinary, &began(takeovers), trials, cuts);
    warning.map(|it| it.text).unwrap_or_default()
}

#[test]
fn a_program_of_uncommitted_changes_weakens_whoever_ran_it() {
    let of = |first: &str, later: &str| {
        let mut run = began(vec![taken("b", "6.1", 4, 0)]);
        run.version = first.into();
        run.takeovers[0].by.version = later.into();
        warned(WarningKind::UncommittedBuild, &run, &blocks(), &[])
    };
    let (clean, dirty) = ("0.1.0 (0123abcde)", "0.1.0 (0123abcde-dirty)");
    assert_eq!((of(clean, clean), of("0.1.0", "0.1.0")), (None, None));
    let said =
        "This program was built from a tree with uncommitted changes: nobody else can build it.";
    for warning in [of(dirty, clean), of(clean, dirty)] {
        assert_eq!(warning.expect("it is dirty").text, said);
    }
    assert_eq!(WarningKind::UncommittedBuild.weight(), Weight::Weakens);
    // One that went on and ran nothing measured nothing.
    let mut run = began(vec![taken("b", "6.1", 8, 0)]);
    run.takeovers[0].by.version = dirty.into();
    assert_eq!(warned(WarningKind::UncommittedBuild, &run, &blocks(), &[]), None);
    run.version = dirty.into();
    assert!(
        warned(WarningKind::UncommittedBuild, &run, &[], &[]).is_some(),
        "before its first trial"
    );
}

#[test]
fn a_run_that_another_program_or_kernel_went_on_with_is_told_with_how_much_of_it() {
    let trials = blocks();
    assert_eq!(another(Vec::new(), &trials, &[]), "");
    let program = another(vec![taken("b", "6.1", 5, 0)], &trials, &[]);
    let said = "Another program of bakeoff went on with the run, and ran 3 of 8 trials: first it was 0.0.0, SHA-256 \
                aaaaaaaaaaaa, kernel 6.1, then 0.0.0, SHA-256 bbbbbbbbbbbb, kernel 6.1; a block is of one of them, \
                figures of cells and ratios mix them.";
    assert_eq!(program, said);
    let kernel = another(vec![taken("a", "6.2", 4, 0)], &trials, &[]);
    assert!(kernel.starts_with("Bakeoff under another kernel went on"), "{kernel}");
    let both = another(vec![taken("b", "6.1", 2, 0), taken("b", "6.2", 4, 0)], &trials, &[]);
    assert!(both.starts_with("Another program of bakeoff under another kernel"), "{both}");
    assert!(both.contains("ran 6 of 8 trials") && both.matches(", then ").count() == 2, "{both}");
}

/// It had begun, and came to nothing; or it is of a record that somebody has edited.
#[test]
fn who_went_on_and_ran_nothing_is_not_told() {
    let trials = blocks();
    for (at, cuts) in [(8, 0), (9, 7), (u32::MAX, u32::MAX)] {
        assert_eq!(another(vec![taken("b", "6.2", at, cuts)], &trials, &[]), "", "{at}");
    }
    assert_eq!(another(vec![taken("b", "6.2", 0, 0)], &trials, &[]), "", "all is the other's");
    // Nor is who began it again after that, of a record that goes back.
    let back = vec![taken("b", "6.1", 6, 0), taken("a", "6.1", 2, 0)];
    assert_eq!(another(back, &trials, &[]), "");
    // TrialGenerator that do not count are no figure of either.
    let mut failed = trials.clone();
    failed[6..].iter_mut().for_each(|trial| {
        trial.measured = None;
        trial.reason = Some("it crashed".into());
    });
    assert_eq!(another(vec![taken("b", "6.1", 6, 0)], &failed, &[]), "");
}

#[test]
fn power_cuts_are_counted_beside_trials() {
    let trials = blocks();
    let cuts = cuts();
    assert!(cuts.len() > 1 && cuts.iter().all(|cut| cut.failed.is_none()));
    let of = cuts.len();
    let told = another(vec![taken("b", "6.1", 8, 1)], &trials, &cuts);
    assert!(told.contains(&format!("ran {} of {of} power cuts:", of - 1)), "{told}");
    let told = another(vec![taken("b", "6.1", 7, 1)], &trials, &cuts);
    assert!(told.contains(&format!("1 of 8 trials and {} of {of} power cuts:", of - 1)), "{told}");
}
