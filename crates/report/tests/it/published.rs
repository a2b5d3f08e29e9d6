//! Published figures beside a run's own.

use bakeoff_analysis::{
    Document, Goes, Ours, PublishedStatement, PublishedView, RatioBound, RatioShape, UntoldReason,
    Warning, WarningKind,
};
use bakeoff_report::{ArticleRun, write_articles};
use bakeoff_results::FigureOfMerit;
use bakeoff_results::published::{
    Publication, PublishedFigure, PublishedTable, PublishedValue, Quantity, SetupDifference,
};

use crate::reading::{SHOWN, between, text};
use crate::sample::rate::rate;
use crate::sample::{Sample, changed};
use crate::sections::{change_all, states};
use crate::snapshots::{Piece, set_out};

const TITLE: &str = "Published figures beside ours";

fn levels(levels: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

fn statement(
    clients: &str,
    theirs: Option<f64>,
    ours: Option<f64>,
    shape: RatioShape,
) -> PublishedStatement {
    let of = |ratio: f64| Ours {
        ratio,
        ratio_is: RatioBound::Exact,
        low: Some(ratio * 0.9),
        high: Some(ratio * 1.1),
        pairs: 5,
    };
    let cell = levels(&[("engine", "lmdb"), ("clients", clients), ("neighbours", "0")]);
    PublishedStatement {
        operation: Some("create_issue".into()),
        of: Quantity::Time,
        levels: cell,
        base: levels(&[("engine", "sqlite")]),
        theirs: theirs.map(PublishedValue::Exactly),
        ours: ours.map(of),
        shape,
    }
}

/// A document with a statement of each kind.
pub fn document() -> Document {
    let mut document = Sample::default().document();
    let unlike = RatioShape::NotTheSame { theirs: Goes::Rises, ours: Goes::Stays };
    document.published = Some(PublishedView {
        statements: vec![
            statement("1", Some(1.25), Some(1.2), RatioShape::Same),
            statement("1", Some(2.0), Some(2.2), RatioShape::Compatible),
            statement("4", Some(9.7), Some(4.0), RatioShape::Weaker),
            statement("4", Some(3.0), Some(1.0), unlike),
            statement("1", Some(2.0), None, RatioShape::CantTell { why: UntoldReason::NotRun }),
        ],
        elsewhere: 60,
    });
    let figure = |value: Option<PublishedValue>| PublishedFigure {
        operation: Some("create_issue".into()),
        levels: levels(&[("engine", "lmdb"), ("clients", "4")]),
        unit: "ms".into(),
        value,
    };
    let (file, of, base) = ("paper.csv".into(), Quantity::Time, levels(&[("engine", "sqlite")]));
    let figures = vec![figure(Some(PublishedValue::AtLeast(226.0))), figure(None)];
    document.run.run.published = Some(Publication {
        question: "Is <it> so?".into(),
        source: "A paper".into(),
        date: "2017".into(),
        url: Some("https://paper.example".into()),
        differs: vec![SetupDifference { there: "a mirror".into(), here: "a modelled disk".into() }],
        tables: vec![PublishedTable { file, of, base, figures }],
    });
    document
}

/// Statements along three numbers of clients, with a gap on either side.
fn over_clients(last: PublishedValue, base: (&str, &str)) -> Document {
    let factors = vec![("clients", vec!["1", "2", "4"])];
    let cant_tell = |why| RatioShape::CantTell { why };
    let mut statements = vec![
        statement("1", Some(1.25), Some(1.2), RatioShape::Same),
        statement("2", None, Some(1.5), cant_tell(UntoldReason::Gap)),
        statement("4", Some(9.7), None, cant_tell(UntoldReason::NotRun)),
    ];
    statements[2].theirs = Some(last);
    for it in &mut statements {
        it.levels.remove("neighbours");
        it.base = levels(&[base]);
    }
    changed(Sample { factors, ..Sample::default() }.document(), |it| {
        it.run.run.published = document().run.run.published;
        it.published = Some(PublishedView { statements, elsewhere: 0 });
    })
}

pub fn pieces() -> Vec<Piece> {
    let cached = |engine: &str| {
        changed(document(), |it| {
            for cell in &mut it.cells {
                let is_it = cell.levels["engine"] == engine && cell.levels["clients"] == "1";
                cell.from_disk = Some(if is_it { 0.1 } else { 1.0 });
            }
        })
    };
    let exact = over_clients(PublishedValue::Exactly(9.7), ("engine", "sqlite"));
    let range = over_clients(PublishedValue::Between(6.0, 7.0), ("engine", "sqlite"));
    let own = over_clients(PublishedValue::Exactly(9.7), ("clients", "1"));
    let mut pieces = states(
        TITLE,
        &["term", "html", "md"],
        &document(),
        &[
            ("its level is of the page cache", "md", cached("lmdb")),
            ("its base is of the page cache", "md", cached("sqlite")),
        ],
    );
    pieces.extend(Piece::both("over clients", TITLE, &exact));
    let others =
        [("a range", "html term", range), ("a base of the axis’s own factor", "term", own)];
    pieces.extend(change_all(TITLE, &exact, &others));
    pieces
}

/// A page of several articles: all but the section that a report of one has, too.
pub fn articles() -> Vec<Piece> {
    let document = document();
    let plain = Sample::default().document();
    let chart = over_clients(PublishedValue::Exactly(9.7), ("engine", "sqlite"));
    let warned = changed(chart, |it| {
        it.warnings = vec![Warning::new(WarningKind::Errors, "2 operations failed")];
    });
    let article = |name, found, report| ArticleRun { name, found, report };
    let page = write_articles(&[
        article("articles/one", Ok(&document), Some("one/report.html")),
        article("articles/two", Ok(&plain), None),
        article("articles/three", Err("Not run: <no> engine."), None),
        article("articles/four", Ok(&warned), None),
    ]);
    let page = page.expect("a page");
    let page = between(&page, "<header>", "<footer>");
    let sections = [&document, &warned].map(|it| text(it, "html"));
    let known: Vec<&str> = sections.iter().flat_map(|it| it.lines()).collect();
    let own: Vec<&str> = page.lines().filter(|line| !known.contains(line)).collect();
    vec![Piece::new("", set_out(&own.join("\n")))]
}

#[test]
fn no_report_judges_who_was_right() {
    for format in SHOWN.into_iter().chain(["json"]) {
        let shown = text(&document(), format).to_lowercase();
        for word in ["reproduced", "confirmed", "refuted"] {
            assert!(!shown.contains(word), "{format}: {word}");
        }
    }
}

/// Each ratio times our own figure of its base: of another level there, or of another place on the axis.
#[test]
fn lines_of_a_rate_have_what_was_published_in_the_shape_that_it_had() {
    let factors = vec![("clients", vec!["1", "2", "4"])];
    let sample = Sample { factors, operations: vec!["read"], ..Sample::default() };
    let mut document = rate(sample.document(), FigureOfMerit::Operations);
    document.sweep = bakeoff_analysis::build_sweep(&document);
    let panel = document.sweep.clone().expect("lines").panels.remove(0);
    let figure = |series: usize, at: usize| panel.series[series].points[at].value.expect("known");
    let published = |clients: &str, base: (&str, &str), ratio: f64| PublishedStatement {
        operation: Some("read".into()),
        of: Quantity::Rate,
        levels: levels(&[("engine", "lmdb"), ("clients", clients)]),
        base: levels(&[base]),
        theirs: Some(PublishedValue::Exactly(ratio)),
        ours: None,
        shape: RatioShape::CantTell { why: UntoldReason::NotRun },
    };
    let mut statements =
        vec![published("2", ("engine", "sqlite"), 3.0), published("4", ("clients", "1"), 2.0)];
    document.published = Some(PublishedView { statements: statements.clone(), elsewhere: 0 });
    let text_of = text(&document, "md");
    let row = text_of.lines().find(|line| line.starts_with("| lmdb, published |"));
    let cells: Vec<&str> = row.expect("a row").split('|').map(str::trim).collect();
    let is = |cell: &str, value: f64| cell.starts_with(&format!("{value:.0}"));
    assert_eq!(cells[2], "–", "{text_of}");
    assert!(is(cells[3], 3.0 * figure(0, 1)) && is(cells[4], 2.0 * figure(1, 0)), "{text_of}");
    assert!(text(&document, "html").contains("times our own figure of its base"));
    // What is of another quantity or another operation is of other lines.
    statements[0].of = Quantity::Time;
    statements[1].operation = Some("write".into());
    document.published = Some(PublishedView { statements, elsewhere: 0 });
    assert!(!text(&document, "md").contains("lmdb, published"));
}
