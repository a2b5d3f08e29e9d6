//! Published figures against trials of known means.

use bakeoff_analysis::{Document, PublishedStatement, RatioShape, UntoldReason, document};
use bakeoff_results::published::{
    Publication, PublishedFigure, PublishedTable, PublishedValue, Quantity, SetupDifference,
};
use bakeoff_results::{LeftOut, Levels, RunFolder};

use crate::data::{TrialGenerator, run};

fn levels(levels: &[(&str, &str)]) -> Levels {
    levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

fn figure(at: &[(&str, &str)], unit: &str, value: Option<PublishedValue>) -> PublishedFigure {
    let operation = Some("create_issue".to_owned());
    PublishedFigure { operation, levels: levels(at), unit: unit.to_owned(), value }
}

fn table(of: Quantity, base: &[(&str, &str)], figures: Vec<PublishedFigure>) -> PublishedTable {
    PublishedTable { file: "paper.csv".to_owned(), of, base: levels(base), figures }
}

/// Those of a source that has these tables.
pub fn published(tables: Vec<PublishedTable>) -> Publication {
    Publication {
        question: "Is it so?".to_owned(),
        source: "A paper".to_owned(),
        date: "2017".to_owned(),
        url: None,
        differs: vec![SetupDifference { there: "large".to_owned(), here: "small".to_owned() }],
        tables,
    }
}

/// Figures of the engines alpha, beta and gamma, of which alpha is the base: there beta takes this
/// many times as long as alpha.
pub fn of_engines(beta: PublishedValue) -> PublishedTable {
    let exactly = |value| Some(PublishedValue::Exactly(value));
    let figures = vec![
        figure(&[("engine", "alpha"), ("clients", "1")], "ms", exactly(500.0)),
        figure(&[("engine", "beta"), ("clients", "1")], "s", Some(beta)),
        figure(&[("engine", "gamma"), ("clients", "1")], "s", None),
        figure(&[("engine", "alpha"), ("clients", "8")], "s", exactly(2.0)),
        figure(&[("engine", "beta"), ("clients", "8")], "s", exactly(3.0)),
        figure(&[("engine", "gamma"), ("clients", "8")], "s", None),
    ];
    table(Quantity::Time, &[("engine", "alpha")], figures)
}

/// The document of a run of so many repetitions, here beta takes twice as long as alpha and gamma
/// half as long; what is done to the run before and after its trials is up to the caller.
fn of(
    published: Publication,
    repetitions: u32,
    before: impl FnOnce(&mut bakeoff_results::Run),
    after: impl FnOnce(&mut RunFolder),
) -> Document {
    let dir = crate::place();
    let mut run = run(&["1"], &["0"], 4 * repetitions.max(1));
    run.published = Some(published);
    before(&mut run);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut trials = TrialGenerator::new(7, 20);
    for repetition in 0..repetitions {
        for trial in trials.block(repetition, repetition, ["1", "0"]) {
            folder.commit_trial(&trial).unwrap();
        }
    }
    after(&mut folder);
    document(&folder).unwrap()
}

fn statements(document: &Document) -> &[PublishedStatement] {
    &document.published.as_ref().expect("it has published figures").statements
}

#[test]
fn each_side_is_divided_by_its_own_base() {
    let table = of_engines(PublishedValue::Exactly(1.1));
    let document = of(published(vec![table]), 5, |_| {}, |_| {});
    let [beta, gamma] = statements(&document) else { panic!("{:?}", document.published) };
    // Half a second there, and whatever it takes here: 1.1 s over 500 ms.
    assert_eq!(beta.theirs, Some(PublishedValue::Exactly(2.2)));
    let ours = beta.ours.expect("it was measured");
    assert!((1.9..2.1).contains(&ours.ratio), "{ours:?}");
    assert_eq!((ours.pairs, beta.shape.words().as_str()), (5, "same shape"));
    // It is the run's own comparison.
    let compared =
        document.comparisons.iter().find(|it| it.level == "beta" && it.operation == "create_issue");
    assert_eq!(compared.and_then(|it| it.ratio), Some(ours.ratio));
    // A gap is no 0.
    assert_eq!(
        (gamma.theirs, &gamma.shape),
        (None, &RatioShape::CantTell { why: UntoldReason::Gap })
    );
    assert!(gamma.ours.is_some());
    // 8 clients are not in the plan: beta is not lost, and what was left empty is no figure.
    assert_eq!(document.published.as_ref().map(|view| view.elsewhere), Some(1));
}

#[test]
fn each_word_follows_from_trials() {
    for (beta, words) in [
        (PublishedValue::Exactly(1.0), "same shape"),
        (PublishedValue::Exactly(4.0), "same direction, weaker here"),
        (PublishedValue::Exactly(0.6), "same direction, stronger here"),
        (PublishedValue::Exactly(0.5), "not the same: theirs stays, ours rises"),
        (PublishedValue::Exactly(0.1), "not the same: theirs falls, ours rises"),
        (PublishedValue::AtLeast(0.8), "same direction, size open"),
    ] {
        let document = of(published(vec![of_engines(beta)]), 5, |_| {}, |_| {});
        assert_eq!(statements(&document)[0].shape.words(), words, "{beta:?}");
    }
}

#[test]
fn why_it_cannot_be_told_is_told() {
    let table = || published(vec![of_engines(PublishedValue::Exactly(1.0))]);
    let why = |document: Document| match &statements(&document)[0].shape {
        RatioShape::CantTell { why } => why.clone(),
        told => panic!("{told:?}"),
    };
    assert_eq!(why(of(table(), 0, |_| {}, |_| {})), UntoldReason::NotRun);
    assert_eq!(why(of(table(), 1, |_| {}, |_| {})), UntoldReason::OnePair);
    let at = |clients| {
        figure(&[("engine", "beta"), ("clients", clients)], "s", Some(PublishedValue::Exactly(2.0)))
    };
    let no_base = self::table(Quantity::Time, &[("clients", "8")], vec![at("1"), at("8")]);
    let no_base = of(published(vec![no_base]), 3, |_| {}, |_| {});
    assert_eq!(no_base.published.as_ref().map(|view| view.elsewhere), Some(0));
    assert_eq!(why(no_base), UntoldReason::BaseNotRun);
    let set_aside = |folder: &mut RunFolder| folder.invalidate(0, 0, "disturbed").unwrap();
    assert_eq!(why(of(table(), 1, |_| {}, set_aside)), UntoldReason::SetAside);
    let left_out = |run: &mut bakeoff_results::Run| {
        let levels = levels(&[("engine", "alpha")]);
        run.left_out.push(LeftOut { levels, why: "no server".to_owned(), trials: 0, cuts: 0 });
    };
    assert_eq!(why(of(table(), 0, left_out, |_| {})), UntoldReason::NotPossible);
    let few = |run: &mut bakeoff_results::Run| run.factors[2].1.push("2".to_owned());
    let more = of_engines(PublishedValue::Exactly(1.0));
    let at_two = |mut it: PublishedFigure| {
        it.levels.insert("clients".to_owned(), "2".to_owned());
        it
    };
    let figures = more.figures.iter().take(2).cloned().map(at_two).collect();
    assert_eq!(
        why(of(published(vec![PublishedTable { figures, ..more }]), 3, few, |_| {})),
        UntoldReason::NotRun
    );
}

#[test]
fn a_base_that_is_a_bound_or_a_gap_divides_nothing() {
    for (base, why) in [
        (Some(PublishedValue::AtLeast(0.5)), UntoldReason::BaseIsABound),
        (None, UntoldReason::BaseGap),
    ] {
        let mut table = of_engines(PublishedValue::Exactly(1.0));
        table.figures[0].value = base;
        let document = of(published(vec![table]), 5, |_| {}, |_| {});
        assert_eq!(statements(&document)[0].theirs, None);
        assert_eq!(statements(&document)[0].shape, RatioShape::CantTell { why });
    }
}

#[test]
fn a_base_of_another_factor_is_paired_by_repetitions() {
    let dir = crate::place();
    let mut run = run(&["1", "4"], &["0"], 40);
    let at = |clients: &str, value: f64| {
        figure(&[("clients", clients)], "ms", Some(PublishedValue::Exactly(value)))
    };
    let figures = vec![at("1", 100.0), at("4", 100.0)];
    run.published = Some(published(vec![table(Quantity::Time, &[("clients", "1")], figures)]));
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut trials = TrialGenerator::new(7, 20);
    for repetition in 0..5 {
        for (number, clients) in ["1", "4"].into_iter().enumerate() {
            let block = 2 * repetition + number as u32;
            for trial in trials.block(repetition, block, [clients, "0"]) {
                folder.commit_trial(&trial).unwrap();
            }
        }
    }
    let document = document(&folder).unwrap();
    // One for each engine, since the source names none; the base itself is no statement.
    let engines: Vec<&str> = statements(&document).iter().map(|it| &*it.levels["engine"]).collect();
    assert_eq!(engines, ["alpha", "beta", "gamma"]);
    for statement in statements(&document) {
        let ours = statement.ours.expect("it was measured");
        assert_eq!((ours.pairs, statement.theirs), (5, Some(PublishedValue::Exactly(1.0))));
        assert_eq!(statement.base, levels(&[("clients", "1")]));
        assert!((0.8..1.25).contains(&ours.ratio), "{ours:?}");
        assert!(ours.low < Some(ours.ratio) && ours.high > Some(ours.ratio), "{ours:?}");
    }
}

#[test]
fn a_run_without_published_figures_has_no_view_of_any() {
    let dir = crate::place();
    let folder = RunFolder::create(&dir.path().join("run"), &run(&["1"], &["0"], 4), "").unwrap();
    assert_eq!(document(&folder).unwrap().published, None);
}
