//! Operations that some cells have and others don't: a read-only mix has no writes.

use bakeoff_analysis::{Comparison, Document, WarningKind};

use bakeoff_testkit::synthetic::{TrialGenerator, run};

use crate::known::{blocks, cell, measured, plain_run, read, told};

/// Eight blocks, half of them with one client and half with four; of each trial what `has` says of its
/// level of `engine` and of `clients`, and of an operation's name.
fn document(has: impl Fn(&str, &str, &str) -> bool) -> Document {
    let mut generator = TrialGenerator::new(5, 10);
    let block = |at: u32| generator.generate_block(at / 2, at, [["1", "4"][at as usize % 2], "0"]);
    let mut trials: Vec<_> = (0..8).flat_map(block).collect();
    for trial in &mut trials {
        let (engine, clients) = (trial.levels["engine"].clone(), trial.levels["clients"].clone());
        let operations = &mut measured(trial).operations;
        operations.retain(|it| has(&engine, &clients, &it.name));
        operations.iter_mut().for_each(|operation| operation.slots.truncate(2));
    }
    read(&run(&["1", "4"], &["0"], 32), &trials)
}

/// Each comparison in a few words.
fn words(comparisons: &[Comparison]) -> Vec<String> {
    let words = |it: &Comparison| {
        format!("{} {} {}/{}", it.operation, it.levels["clients"], it.level, it.baseline)
    };
    comparisons.iter().map(words).collect()
}

#[test]
fn what_a_cell_does_not_do_is_in_no_figure_and_no_comparison_of_it() {
    let all = document(|_, _, _| true);
    let some = document(|_, clients, name| clients == "1" || name == "process_issues");
    let is_gap = |it: &Comparison| it.operation == "create_issue" && it.levels["clients"] == "4";
    assert_eq!((all.comparisons.len(), all.between.len(), all.noise.len()), (8, 4, 4));
    assert_eq!((some.comparisons.len(), some.between.len(), some.noise.len()), (6, 3, 3));
    for (some, all) in [(&some.comparisons, &all.comparisons), (&some.noise, &all.noise)] {
        let left: Vec<&Comparison> = all.iter().filter(|it| !is_gap(it)).collect();
        // The figures of the operation, not those of the one that has its place elsewhere.
        let figures =
            |it: &Comparison| (it.operation.clone(), it.level.clone(), it.ratio, it.blocks);
        let [some, left] =
            [some.iter().map(figures).collect::<Vec<_>>(), left.into_iter().map(figures).collect()];
        assert_eq!(some, left);
        assert!(some.iter().all(|(.., blocks)| *blocks == 4), "{some:?}");
    }
    for (cell, whole) in some.cells.iter().zip(&all.cells) {
        assert_eq!(cell.levels, whole.levels);
        let from = usize::from(cell.levels["clients"] == "4");
        assert_eq!(cell.operations, whole.operations[from..]);
    }
}

/// Trials of one cell that did not do the same: each figure is of those that have it.
#[test]
fn the_figures_of_a_cell_are_put_together_by_name() {
    let mut trials = blocks(2);
    let mut counts = [0, 0];
    for trial in &mut trials {
        if trial.block == 0 {
            measured(trial).operations.remove(0);
        }
        if trial.levels["engine"] == "alpha" {
            for operation in &measured(trial).operations {
                counts[usize::from(operation.name == "process_issues")] += operation.kept.len();
            }
        }
    }
    let document = read(&plain_run(8), &trials);
    let cell = cell(&document, "alpha");
    let count = |name: &str| cell.operations.iter().find(|it| it.name == name).unwrap().count;
    assert_eq!([count("create_issue"), count("process_issues")], counts);
    let stalled = told(&document, WarningKind::Stalled);
    assert_eq!(stalled, "", "a mean was held against another operation's");
}

#[test]
fn where_the_baseline_does_not_do_it_the_next_level_that_does_is_held_against() {
    let some = document(|engine, _, name| {
        name == "process_issues" || !["alpha", "alpha@again"].contains(&engine)
    });
    let wanted = ["create_issue 1 gamma/beta", "create_issue 4 gamma/beta"];
    assert_eq!(words(&some.comparisons)[..2], wanted);
    assert!(words(&some.between).iter().all(|it| it.starts_with("process_issues")));
    assert_eq!(some.noise.len(), 2, "{:?}", words(&some.noise));
    assert!(some.comparisons.iter().all(|it| it.blocks == 4));
}
