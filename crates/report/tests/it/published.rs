//! Published figures beside a run's own, in every format.

use bakeoff_analysis::{
    Goes, Ours, PublishedStatement, PublishedView, RatioIs, RatioShape, UntoldReason,
};
use bakeoff_report::{ArticleRun, articles};
use bakeoff_results::FigureOfMerit;
use bakeoff_results::published::{
    Publication, PublishedFigure, PublishedTable, PublishedValue, Quantity, SetupDifference,
};

use crate::formats::text;
use crate::sample::Sample;
use crate::sample::rate::rate;

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
        ratio_is: RatioIs::Exact,
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
fn document() -> bakeoff_analysis::Document {
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
    let figure = PublishedFigure {
        operation: Some("create_issue".into()),
        levels: levels(&[("engine", "lmdb"), ("clients", "4")]),
        unit: "ms".into(),
        value: Some(PublishedValue::AtLeast(226.0)),
    };
    let gap = PublishedFigure { value: None, ..figure.clone() };
    document.run.run.published = Some(Publication {
        question: "Is <it> so?".into(),
        source: "A paper".into(),
        date: "2017".into(),
        url: Some("https://paper.example".into()),
        differs: vec![SetupDifference { there: "a mirror".into(), here: "a modelled disk".into() }],
        tables: vec![PublishedTable {
            file: "paper.csv".into(),
            of: Quantity::Time,
            base: levels(&[("engine", "sqlite")]),
            figures: vec![figure, gap],
        }],
    });
    document
}

#[test]
fn every_format_says_what_is_the_same_and_what_is_not() {
    let document = document();
    for format in ["html", "md", "term"] {
        let shown = text(&document, format);
        for said in [
            "A paper, 2017",
            "a mirror",
            "a modelled disk",
            "5 statements: same shape 1, compatible 1, same direction 1, not the same 1, can’t tell 1.",
            "60 more published figures are of levels that this run does not have",
            "1.20 times",
            "4.00 times",
            "published: 1.25 and 9.70 times",
        ] {
            let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            let flat = flat.replace("<strong>", "").replace("</strong>", "").replace("**", "");
            assert!(flat.contains(said), "{format}: {said}\n{shown}");
        }
    }
    for format in ["html", "md"] {
        let shown = text(&document, format);
        for said in [
            "= same shape",
            "~ compatible",
            "≈ same direction, weaker here",
            "≠ not the same: theirs rises, ours stays",
            "? can’t tell: not run",
            "1.20 (1.08 to 1.32)",
            "≥ 226 ms",
        ] {
            assert!(shown.contains(said), "{format}: {said}\n{shown}");
        }
    }
    assert!(!text(&document, "html").contains("Is <it> so?"), "texts are escaped");
}

#[test]
fn a_ratio_of_the_page_cache_is_marked_whichever_side_it_is_of() {
    let marked = |engine: &str| {
        let mut document = document();
        for cell in &mut document.cells {
            let is_it = cell.levels["engine"] == engine && cell.levels["clients"] == "1";
            cell.from_disk = Some(if is_it { 0.1 } else { 1.0 });
        }
        let shown = text(&document, "md");
        let row = |ratio: &str| {
            let found = shown.lines().find(|line| line.contains(ratio));
            found.unwrap_or_else(|| panic!("{ratio}: {shown}")).contains("cache")
        };
        [row("1.20 (1.08 to 1.32)"), row("4.00 (3.60 to 4.40)")]
    };
    for (engine, first) in [("lmdb", true), ("sqlite", true), ("fjall", false)] {
        assert_eq!(marked(engine), [first, false], "{engine}");
    }
}

#[test]
fn no_report_judges_who_was_right() {
    for format in ["html", "md", "term", "json"] {
        let shown = text(&document(), format).to_lowercase();
        for word in ["reproduced", "confirmed", "refuted"] {
            assert!(!shown.contains(word), "{format}: {word}");
        }
    }
}

#[test]
fn a_terminal_keeps_its_width() {
    for line in text(&document(), "term").lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_run_without_published_figures_says_nothing_of_any() {
    let plain = Sample::default().document();
    for format in ["html", "md", "term", "json"] {
        assert!(!text(&plain, format).to_lowercase().contains("published figures"), "{format}");
    }
}

#[test]
fn lines_over_a_numeric_factor_have_hollow_marks_for_what_was_published() {
    let factors = vec![("clients", vec!["1", "2", "4"])];
    let mut document = Sample { factors, ..Sample::default() }.document();
    let source = self::document().run.run.published;
    document.run.run.published = source;
    let mut statements = vec![
        statement("1", Some(1.25), Some(1.2), RatioShape::Same),
        statement("2", None, Some(1.5), RatioShape::CantTell { why: UntoldReason::Gap }),
        statement("4", Some(9.7), None, RatioShape::CantTell { why: UntoldReason::NotRun }),
    ];
    statements.iter_mut().for_each(|it| drop(it.levels.remove("neighbours")));
    document.published = Some(PublishedView { statements: statements.clone(), elsewhere: 0 });
    let html = text(&document, "html");
    let section = html.split("Published figures beside ours").last().expect("the section");
    let chart = section.split("<svg").nth(1).expect("a chart");
    for said in ["lmdb ÷ sqlite", "published", "ours"] {
        assert!(section.contains(said), "{said}");
    }
    assert!(chart.contains("mark hollow"), "{chart}");
    // In a terminal, with a gap on either side.
    let term = text(&document, "term");
    let row = |name: &str| {
        let of = |line: &&str| line.trim_start().starts_with(name);
        let found = term.lines().find(of);
        found.unwrap_or_else(|| panic!("{name}\n{term}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(row("lmdb ÷ sqlite, published")[4..], ["1.25", "–", "9.70"], "{term}");
    assert_eq!(row("lmdb ÷ sqlite, ours")[4..], ["1.20", "1.50", "–"], "{term}");
    // What was published as a range stands there as this range, not as its middle.
    statements[2].theirs = Some(PublishedValue::Between(6.0, 7.0));
    document.published = Some(PublishedView { statements: statements.clone(), elsewhere: 0 });
    let html = text(&document, "html");
    let section = html.split("Published figures beside ours").last().expect("the section");
    assert!(section.contains("<tspan class=\"figure\">6–7</tspan>"), "{section}");
    assert!(section.contains("clients 4: 6–7</title>"), "{section}");
    let term = text(&document, "term");
    let row = term.lines().find(|line| line.trim_start().starts_with("lmdb ÷ sqlite, published"));
    assert!(row.is_some_and(|row| row.trim_end().ends_with("6–7")), "{term}");
    assert!(text(&document, "md").contains("| 6–7 |"));
    // A base of the axis's own factor has no panel.
    for statement in &mut statements {
        statement.base = levels(&[("clients", "1")]);
    }
    document.published = Some(PublishedView { statements, elsewhere: 0 });
    assert!(!text(&document, "html").contains("Hollow marks"));
}

/// Each ratio times our own figure of its base: of another level there, or of another place on the axis.
#[test]
fn lines_of_a_rate_have_what_was_published_in_the_shape_that_it_had() {
    let factors = vec![("clients", vec!["1", "2", "4"])];
    let sample = Sample { factors, operations: vec!["read"], ..Sample::default() };
    let mut document = rate(sample.document(), FigureOfMerit::Operations);
    document.sweep = bakeoff_analysis::sweep(&document);
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

#[test]
fn a_page_of_several_articles_has_each_with_its_own_figures() {
    let document = document();
    let plain = Sample::default().document();
    let article = |name, found, report| ArticleRun { name, found, report };
    let page = articles(&[
        article("articles/one", Ok(&document), Some("one/report.html")),
        article("articles/two", Ok(&plain), None),
        article("articles/three", Err("Not run: <no> engine."), None),
    ]);
    let page = page.expect("a page");
    // Each statement is of another shape.
    let row = page.split("<th scope=\"row\">articles&#x2f;one</th>").nth(1).expect("its row");
    let row = row.split("</tr>").next().expect("its end");
    assert_eq!(row.matches(">1</td>").count(), 5, "{row}");
    let two = page.split("<section id=\"articles&#x2f;two\">").nth(1).expect("the second");
    assert!(two.split("</section>").next().is_some_and(|it| it.contains("no published figures")));
    for said in [
        "<section id=\"articles&#x2f;one\">",
        "<a href=\"one&#x2f;report.html\">The whole report of this run</a>",
        "5 statements: same shape 1",
        "Is &lt;it&gt; so?",
        "Not run: &lt;no&gt; engine.",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
}
