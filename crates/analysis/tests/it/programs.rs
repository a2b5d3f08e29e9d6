//! What a reader is warned of bakeoff's own program: that nobody can build it, and that it was not one alone.

use bakeoff_analysis::{WarningKind, Weight};
use bakeoff_results::{Cut, Platform, Run, Takeover, Trial};
use bakeoff_testkit::synthetic::sample_cuts;

use crate::known::{blocks, fail, plain_run, read_with, told};

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
    let mut run = plain_run(16);
    run.program_sha256 = Some("a".repeat(64));
    run.machine.kernel = "6.1".into();
    Run { takeovers, ..run }
}

fn warned(kind: WarningKind, run: &Run, trials: &[Trial], cuts: &[Cut]) -> String {
    let document = read_with(run, trials, |folder| {
        cuts.iter().for_each(|cut| folder.commit_cut(cut).unwrap());
    });
    told(&document, kind)
}

fn another(takeovers: Vec<Takeover>, trials: &[Trial], cuts: &[Cut]) -> String {
    warned(WarningKind::AnotherBinary, &began(takeovers), trials, cuts)
}

#[test]
fn a_program_of_uncommitted_changes_weakens_whoever_ran_it() {
    let (clean, dirty) = ("0.1.0 (0123abcde)", "0.1.0 (0123abcde-dirty)");
    let warned = |run: &Run, trials: &[Trial]| {
        let found = warned(WarningKind::UncommittedBuild, run, trials, &[]);
        assert!(found.is_empty() || found.starts_with("This program was built from a tree with uncommitted changes: nobody else can build it"), "{found}");
        !found.is_empty()
    };
    // Of the first, and of who went on after so many of 8 trials.
    for (first, later, at, told) in [
        (clean, clean, 4, false),
        ("0.1.0", "0.1.0", 4, false),
        (dirty, clean, 4, true),
        (clean, dirty, 4, true),
        // One that went on and ran nothing measured nothing.
        (clean, dirty, 8, false),
    ] {
        let mut run = began(vec![taken("b", "6.1", at, 0)]);
        run.version = first.into();
        run.takeovers[0].by.version = later.into();
        assert_eq!(warned(&run, &blocks(2)), told, "{first}, {later} after {at}");
    }
    let run = Run { version: dirty.into(), ..began(vec![taken("b", "6.1", 8, 0)]) };
    assert!(warned(&run, &[]), "before its first trial");
    assert_eq!(WarningKind::UncommittedBuild.weight(), Weight::Weakens);
}

#[test]
fn a_run_that_another_program_or_kernel_went_on_with_is_told_with_how_much_of_it() {
    let trials = blocks(2);
    assert_eq!(another(Vec::new(), &trials, &[]), "");
    let program = another(vec![taken("b", "6.1", 5, 0)], &trials, &[]);
    let said = "Another program of bakeoff went on with the run, and ran 3 of 8 trials: first it was 0.0.0, SHA-256 \
                aaaaaaaaaaaa, kernel 6.1, then 0.0.0, SHA-256 bbbbbbbbbbbb, kernel 6.1; a block is of one of them, \
                figures of cells and ratios mix them.";
    assert!(program.starts_with(said), "{program}");
    let kernel = another(vec![taken("a", "6.2", 4, 0)], &trials, &[]);
    assert!(kernel.starts_with("Bakeoff under another kernel went on"), "{kernel}");
    let both = another(vec![taken("b", "6.1", 2, 0), taken("b", "6.2", 4, 0)], &trials, &[]);
    assert!(both.starts_with("Another program of bakeoff under another kernel"), "{both}");
    assert!(both.contains("ran 6 of 8 trials") && both.matches(", then ").count() == 2, "{both}");
    // Power cuts are counted beside trials.
    let cuts = sample_cuts();
    let of = cuts.len();
    assert!(of > 1 && cuts.iter().all(|cut| cut.failed.is_none()));
    let told = another(vec![taken("b", "6.1", 8, 1)], &trials, &cuts);
    assert!(told.contains(&format!("ran {} of {of} power cuts:", of - 1)), "{told}");
    let told = another(vec![taken("b", "6.1", 7, 1)], &trials, &cuts);
    assert!(told.contains(&format!("1 of 8 trials and {} of {of} power cuts:", of - 1)), "{told}");
}

/// It had begun, and came to nothing; or it is of a record that somebody has edited.
#[test]
fn who_went_on_and_ran_nothing_is_not_told() {
    let trials = blocks(2);
    // At last all is the other's.
    for (at, cuts) in [(8, 0), (9, 7), (u32::MAX, u32::MAX), (0, 0)] {
        assert_eq!(another(vec![taken("b", "6.2", at, cuts)], &trials, &[]), "", "{at}");
    }
    // Nor is who began it again after that, of a record that goes back.
    let back = vec![taken("b", "6.1", 6, 0), taken("a", "6.1", 2, 0)];
    assert_eq!(another(back, &trials, &[]), "");
    // Trials that do not count are no figure of either.
    let mut failed = trials;
    failed[6..].iter_mut().for_each(|trial| fail(trial, "it crashed"));
    assert_eq!(another(vec![taken("b", "6.1", 6, 0)], &failed, &[]), "");
}
