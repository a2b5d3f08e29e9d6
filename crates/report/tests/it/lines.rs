//! The block of lines over a numeric factor, as each format shows it.

use bakeoff_analysis::RatioIs;
use bakeoff_report::block::sweep::{
    Fastest, LinePanel, LinePoint, LineSource, LineValue, Sign, SweepLine, SweepUnit, Tick,
};
use bakeoff_report::block::{ReportBlock, Sweeps};
use bakeoff_report::{DocumentLayout, Options, Reports, Section};

use crate::sample::Sample;

/// A section of one block.
struct Lines(Vec<LinePanel>);

impl Section for Lines {
    fn name(&self) -> &str {
        "panels"
    }

    fn title(&self) -> &str {
        "Panels"
    }

    fn blocks(&self, _: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        vec![ReportBlock::Sweeps(Sweeps::from_panels("Explained".into(), self.0.clone(), None))]
    }
}

/// What a format shows of panels: the section alone.
fn shown(panels: Vec<LinePanel>, format: &str) -> String {
    let mut reports = Reports::standard();
    reports.section(Box::new(Lines(panels))).expect("a free name");
    let document = Sample { factors: vec![], ..Sample::default() }.document();
    let text = reports.render(&document, format, &Options::default()).expect("a report");
    let (from, to) = match format {
        "html" => ("<section id=\"panels\">", "</section>"),
        "md" => ("## Panels\n", "\n## "),
        _ => ("\nPanels\n", "\n\n"),
    };
    let rest = &text[text.find(from).expect("the section") + from.len()..];
    rest[..rest.find(to).unwrap_or(rest.len())].to_owned()
}

fn ticks(values: &[f64]) -> Vec<Tick> {
    let tick = |value: &f64| Tick { name: format!("{value}"), value: *value, marked: true };
    values.iter().map(tick).collect()
}

fn line(name: &str, style: usize, points: Vec<LinePoint>) -> SweepLine {
    SweepLine {
        name: name.into(),
        style,
        source: LineSource::Ours,
        shade: None,
        pale: false,
        points,
        against: "fastest".into(),
    }
}

fn known(value: f64) -> LinePoint {
    LinePoint::Known(value.into())
}

fn panel(values: &[f64], lines: Vec<SweepLine>) -> LinePanel {
    LinePanel {
        id: "own0".into(),
        caption: "create <issue>".into(),
        description: "described".into(),
        factor: "clients".into(),
        ticks: ticks(values),
        amount: SweepUnit::Seconds,
        title: "mean time, down is faster".into(),
        lines,
        fastest: Vec::new(),
        base: None,
        slopes: false,
        against: "at 8, against the fastest".into(),
    }
}

/// Three lines with everything that a point can be.
fn eventful() -> LinePanel {
    let bound = LineValue { is: RatioIs::AtLeast, ..0.3.into() };
    let wide = LineValue { ends: (Some(0.01), Some(0.09)), ..0.03.into() };
    let lines = vec![
        line("sqlite", 0, vec![known(0.01), known(0.02), LinePoint::NotRun, known(0.16)]),
        line(
            "lmdb",
            1,
            vec![
                LinePoint::SetAside(Some(0.02), "slow <disk>".into()),
                known(0.02),
                LinePoint::Known(wide),
                LinePoint::Known(bound),
            ],
        ),
        line(
            "fjall",
            2,
            vec![
                known(0.012),
                LinePoint::SetAside(None, "no trial counts".into()),
                known(0.013),
                known(0.014),
            ],
        ),
    ];
    let signs = vec![
        Sign::Unknown,
        Sign::TooClose(vec!["sqlite".into(), "lmdb".into()]),
        Sign::Known("fjall".into(), 2),
        Sign::Known("fjall".into(), 2),
    ];
    let fastest = vec![Fastest { name: String::new(), signs }];
    LinePanel { fastest, slopes: true, ..panel(&[1.0, 2.0, 4.0, 8.0], lines) }
}

#[test]
fn a_page_shows_gaps_bounds_and_what_was_set_aside_as_such() {
    let html = shown(vec![eventful()], "html");
    let number = |text: &str| html.matches(text).count();
    // A line goes on across a gap, dotted: sqlite over 4, fjall over 2.
    assert_eq!(number("class=\"course across"), 2, "{html}");
    assert_eq!(number("<polyline"), 3, "sqlite 1-2, lmdb 2-8, fjall 4-8; none across a gap");
    assert_eq!(number("sqlite, clients 4: not run"), 1);
    assert_eq!(number("lmdb, clients 1: set aside: slow &lt;disk&gt;"), 1);
    assert_eq!(number("class=\"crossed\""), 2, "one mark is crossed");
    assert_eq!(number(">×<"), 1, "what has no figure stands at the foot");
    assert_eq!(number("lmdb, clients 8: &gt; 300 ms"), 1);
    assert_eq!(number("lmdb, clients 4: 30.0 ms (10.0 ms to 90.0 ms)"), 1);
    assert_eq!((number(">≈<"), number(">?<")), (1, 1));
    for label in
        ["sqlite <tspan class=\"figure\">160 ms", "lmdb <tspan class=\"figure\">&gt; 300 ms"]
    {
        assert_eq!(number(label), 1, "{label}");
    }
    assert!(!html.contains("<issue>") && number("create &lt;issue&gt;") > 0);
}

#[test]
fn tables_have_the_signs_and_say_what_they_stand_for() {
    let term = shown(vec![eventful()], "term");
    assert!(term.lines().all(|line| line.chars().count() <= 80), "{term}");
    let row = |name: &str| {
        let line = term.lines().find(|line| line.contains(name)).expect("a row");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("sqlite"), ["sqlite", "10.0", "~20.0", "–", "160", "fastest"]);
    assert_eq!(row("lmdb")[1..6], ["×20.0", "~20.0", "30.0", ">", "300"]);
    assert_eq!(row("fjall")[1..5], ["12.0", "×", "*13.0", "*14.0"]);
    for part in ["* fastest", "~ undecided", "can’t tell which is", "× set aside", "> at least"]
    {
        assert!(term.contains(part), "{part}: {term}");
    }
    let md = shown(vec![eventful()], "md");
    assert!(md.contains("| sqlite | 10.0 | \\~20.0 |"), "{md}");
}

#[test]
fn published_figures_are_hollow_and_have_no_gaps() {
    let theirs = SweepLine {
        source: LineSource::Published,
        ..line("MyRocks", 1, vec![known(1.0), LinePoint::NotRun, known(0.5)])
    };
    let ours = line("MyRocks", 1, vec![known(1.0), known(0.8), known(0.6)]);
    let of = |lines| LinePanel {
        amount: SweepUnit::Times,
        title: "speed left, small = 1".into(),
        base: Some(0),
        ..panel(&[0.0, 1.0, 4.0], lines)
    };
    let html = shown(vec![of(vec![ours.clone(), theirs.clone()])], "html");
    let number = |text: &str| html.matches(text).count();
    assert_eq!(number("class=\"mark hollow c1 published\""), 3, "two figures and the name");
    assert_eq!(number("class=\"one-of\""), 1, "the base is one");
    assert_eq!(number("not run"), 0, "a publication has what it has");
    assert!(html.contains("0.60</tspan>") && html.contains("0.50</tspan>"), "{html}");
    let term = shown(vec![of(vec![ours, theirs])], "term");
    assert!(term.contains("MyRocks, ours") && term.contains("MyRocks, published"), "{term}");
}

/// A disk's name is longer than an engine's: it is neither shortened nor cut at the edge, and the panels of a group are
/// all as wide.
#[test]
fn long_names_at_the_ends_of_lines_have_the_room_that_they_take() {
    let of = |id: &str, name: &str| LinePanel {
        id: id.into(),
        amount: SweepUnit::Rate("/s"),
        ..panel(&[1.0, 16.0], vec![line(name, 0, vec![known(100.0), known(1230.0)])])
    };
    let widths = |html: &str| -> Vec<f64> {
        let all = html.split("style=\"width:").skip(1);
        all.map(|rest| rest.split("px").next().unwrap().parse().unwrap()).collect()
    };
    let html = shown(vec![of("own0", "sqlite")], "html");
    assert_eq!(widths(&html), [462.0], "{html}");
    let name = "raid10:8×ebs-magnetic";
    let html = shown(vec![of("own0", "sqlite"), of("own1", name)], "html");
    let widths = widths(&html);
    assert!(widths.len() == 2 && widths[0] == widths[1], "{widths:?}");
    let label = format!("</title>{name} <tspan class=\"figure\">1230/s<");
    let before = html.split(&label).next().filter(|before| before.len() < html.len());
    let before = before.unwrap_or_else(|| panic!("{label} is not in {html}"));
    let x = before.rsplit("class=\"name start\" x=\"").next().and_then(|it| it.split('"').next());
    let x: f64 = x.unwrap().parse().unwrap();
    // What DejaVu Sans takes at 11.5 px, its bold letters at the figure.
    assert!(x + 136.0 + 3.7 + 43.0 < widths[0], "{x}: {widths:?}");
}

#[test]
fn panels_of_a_group_share_one_scale_and_forty_levels_fit() {
    let values: Vec<f64> = (1..=40).map(f64::from).collect();
    let flat = line("flat", 0, vec![known(0.01); 40]);
    let steep = line("steep", 1, values.iter().map(|it| known(0.01 * it)).collect());
    let mut many = panel(&values, vec![flat.clone(), steep]);
    for (at, tick) in many.ticks.iter_mut().enumerate() {
        tick.marked = [0, 20, 39].contains(&at);
    }
    let mut low = many.clone();
    (low.id, low.lines) = ("own1".into(), vec![flat]);
    let html = shown(vec![many.clone(), low], "html");
    // Three marks and a name a line.
    assert_eq!(html.matches("<g class=\"mark c0\"").count(), 2 * 4, "{html}");
    let height = |id: &str| {
        let svg = &html[html.find(&format!("id=\"{id}-t\"")).expect("a panel")..];
        let line = svg.find("class=\"course c0\" points=\"").expect("a line");
        svg[line..].split(['"', ' ']).find(|it| it.contains(',')).map(str::to_owned)
    };
    assert_eq!(height("own0"), height("own1"), "10 ms stand at one height");
    let term = shown(vec![many], "term");
    assert!(term.lines().all(|line| line.chars().count() <= 80), "{term}");
    assert!(term.contains(" of 40 levels"), "{term}");
}
