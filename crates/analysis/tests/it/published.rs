//! Published figures against trials of known means. What each word means is tested where it is made.

use bakeoff_analysis::{Document, PublishedStatement, RatioShape, UntoldReason};
use bakeoff_results::published::{
    Publication, PublishedFigure, PublishedTable, PublishedValue, Quantity, SetupDifference,
};
use bakeoff_results::{LeftOut, Levels, Run, RunFolder};
use bakeoff_testkit::synthetic::{TrialGenerator, run};

use crate::known::{plain_run, read, read_with};

fn levels(levels: &[(&str, &str)]) -> Levels {
    levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

fn figure(at: &[(&str, &str)], unit: &str, value: Option<PublishedValue>) -> PublishedFigure {
    let operation = Some("create_issue".to_owned());
    PublishedFigure { operation, levels: levels(at), unit: unit.to_owned(), value }
}

fn table(base: &[(&str, &str)], figures: Vec<PublishedFigure>) -> PublishedTable {
    let (file, of) = ("paper.csv".to_owned(), Quantity::Time);
    PublishedTable { file, of, base: levels(base), figures }
}

/// Those of a source that has this table.
pub fn published(table: PublishedTable) -> Publication {
    Publication {
        question: "Is it so?".to_owned(),
        source: "A paper".to_owned(),
        date: "2017".to_owned(),
        url: None,
        differs: vec![SetupDifference { there: "large".to_owned(), here: "small".to_owned() }],
        tables: vec![table],
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
    table(&[("engine", "alpha")], figures)
}

/// The document of a run of so many repetitions, here beta takes twice as long as alpha and gamma
/// half as long; what is done to the run before and after its trials is up to the caller.
fn document_of(
    table: PublishedTable,
    repetitions: u32,
    before: fn(&mut Run),
    after: fn(&mut RunFolder),
) -> Document {
    let mut run = plain_run(4 * repetitions.max(1));
    run.published = Some(published(table));
    before(&mut run);
    let mut generator = TrialGenerator::new(7, 20);
    let block = |it| generator.generate_block(it, it, ["1", "0"]);
    let trials: Vec<_> = (0..repetitions).flat_map(block).collect();
    read_with(&run, &trials, after)
}

fn statements(document: &Document) -> &[PublishedStatement] {
    &document.published.as_ref().expect("it has published figures").statements
}

#[test]
fn each_side_is_divided_by_its_own_base() {
    let table = of_engines(PublishedValue::Exactly(1.1));
    let document = document_of(table, 5, |_| {}, |_| {});
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
    // A bound stays one.
    let bound = document_of(of_engines(PublishedValue::AtLeast(0.8)), 5, |_| {}, |_| {});
    assert_eq!(statements(&bound)[0].shape.words(), "same direction, size open");
}

#[test]
fn why_it_cannot_be_told_is_told() {
    let plain = || of_engines(PublishedValue::Exactly(1.0));
    let at = |clients| {
        figure(&[("engine", "beta"), ("clients", clients)], "s", Some(PublishedValue::Exactly(2.0)))
    };
    let no_base = || table(&[("clients", "8")], vec![at("1"), at("8")]);
    let of_base = |value| {
        let mut table = plain();
        table.figures[0].value = value;
        table
    };
    let mut at_two = plain();
    at_two.figures.truncate(2);
    for figure in &mut at_two.figures {
        figure.levels.insert("clients".to_owned(), "2".to_owned());
    }
    type Case = (PublishedTable, u32, fn(&mut Run), fn(&mut RunFolder), UntoldReason);
    let cases: [Case; 8] = [
        (plain(), 0, |_| {}, |_| {}, UntoldReason::NotRun),
        (plain(), 1, |_| {}, |_| {}, UntoldReason::OnePair),
        (no_base(), 3, |_| {}, |_| {}, UntoldReason::BaseNotRun),
        (
            plain(),
            1,
            |_| {},
            |folder| folder.invalidate_block(0, 0, "disturbed").unwrap(),
            UntoldReason::SetAside,
        ),
        (
            plain(),
            0,
            |run| {
                let (levels, why) = (levels(&[("engine", "alpha")]), "no server".to_owned());
                run.left_out.push(LeftOut { levels, why, trials: 0, cuts: 0 });
            },
            |_| {},
            UntoldReason::NotPossible,
        ),
        (at_two, 3, |run| run.factors[2].1.push("2".to_owned()), |_| {}, UntoldReason::NotRun),
        // A base that is a bound or a gap divides nothing.
        (
            of_base(Some(PublishedValue::AtLeast(0.5))),
            5,
            |_| {},
            |_| {},
            UntoldReason::BaseIsABound,
        ),
        (of_base(None), 5, |_| {}, |_| {}, UntoldReason::BaseGap),
    ];
    for (table, repetitions, before, after, why) in cases {
        let document = document_of(table, repetitions, before, after);
        let told = &statements(&document)[0];
        assert_eq!(told.shape, RatioShape::CantTell { why: why.clone() });
        let is_of_base = matches!(why, UntoldReason::BaseIsABound | UntoldReason::BaseGap);
        assert!(!is_of_base || told.theirs.is_none());
    }
    let elsewhere = document_of(no_base(), 3, |_| {}, |_| {}).published.map(|it| it.elsewhere);
    assert_eq!(elsewhere, Some(0));
}

#[test]
fn a_base_of_another_factor_is_paired_by_repetitions() {
    let mut run = run(&["1", "4"], &["0"], 40);
    let at =
        |clients: &str| figure(&[("clients", clients)], "ms", Some(PublishedValue::Exactly(100.0)));
    run.published = Some(published(table(&[("clients", "1")], vec![at("1"), at("4")])));
    let mut generator = TrialGenerator::new(7, 20);
    let block = |it: u32| generator.generate_block(it / 2, it, [["1", "4"][it as usize % 2], "0"]);
    let trials: Vec<_> = (0..10).flat_map(block).collect();
    let document = read(&run, &trials);
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
    assert_eq!(read(&plain_run(4), &[]).published, None, "without published figures");
}
