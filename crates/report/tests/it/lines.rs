//! The block of lines over a numeric factor, as each format shows it.

use bakeoff_analysis::RatioBound;
use bakeoff_report::block::sweep::{
    Fastest, LeaderLabel, LinePanel, LinePoint, LineSource, LineValue, SweepLine, SweepUnit, Tick,
};
use bakeoff_report::block::{ReportBlock, Sweeps};
use bakeoff_report::{Options, render_blocks};

use crate::snapshots::{Piece, set_out};

/// What a format shows of panels alone.
fn shown(panels: Vec<LinePanel>, format: &str) -> String {
    let block = ReportBlock::Sweeps(Sweeps::from_panels("Explained".into(), panels, None));
    let text = render_blocks("Panels", vec![block], format, &Options::default()).expect("a report");
    let (from, to) = match format {
        "html" => ("<main>", "</main>"),
        _ => ("Panels\n", "\n\n\n"),
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
    let bound = LineValue { is: RatioBound::AtLeast, ..0.3.into() };
    let wide = LineValue { ends: (Some(0.01), Some(0.09)), ..0.03.into() };
    let aside = |value, why: &str| LinePoint::SetAside(value, why.into());
    let [wide, bound] = [wide, bound].map(LinePoint::Known);
    let lines = vec![
        line("sqlite", 0, vec![known(0.01), known(0.02), LinePoint::NotRun, known(0.16)]),
        line("lmdb", 1, vec![aside(Some(0.02), "slow <disk>"), known(0.02), wide, bound]),
        line(
            "fjall",
            2,
            vec![known(0.012), aside(None, "no trial counts"), known(0.013), known(0.014)],
        ),
    ];
    let signs = vec![
        LeaderLabel::Unknown,
        LeaderLabel::TooClose(vec!["sqlite".into(), "lmdb".into()]),
        LeaderLabel::Known("fjall".into(), 2),
        LeaderLabel::Known("fjall".into(), 2),
    ];
    let fastest = vec![Fastest { name: String::new(), signs }];
    LinePanel { fastest, slopes: true, ..panel(&[1.0, 2.0, 4.0, 8.0], lines) }
}

/// Published figures beside ours: hollow, without gaps.
fn published() -> LinePanel {
    let theirs = SweepLine {
        source: LineSource::Published,
        ..line("MyRocks", 1, vec![known(1.0), LinePoint::NotRun, known(0.5)])
    };
    let ours = line("MyRocks", 1, vec![known(1.0), known(0.8), known(0.6)]);
    LinePanel {
        amount: SweepUnit::Times,
        title: "speed left, small = 1".into(),
        base: Some(0),
        ..panel(&[0.0, 1.0, 4.0], vec![ours, theirs])
    }
}

/// The block by itself.
pub fn pieces() -> Vec<Piece> {
    let pale = line("pale", 0, vec![known(0.1), known(0.2), known(0.2)]);
    let pale = SweepLine { pale: true, shade: Some(1), ..pale };
    // A model's line goes over a gap, a single figure is a stroke, and nothing is no line.
    let gap = || LinePoint::NotRun;
    let models = [
        line("device", 1, vec![known(0.1), gap(), known(0.3)]),
        line("device of one figure", 2, vec![gap(), known(0.2), gap()]),
        line("device of no figure", 3, vec![gap(), gap(), gap()]),
    ];
    let models = models.map(|it| SweepLine { source: LineSource::Modelled, ..it });
    let lines = [vec![pale], models.into()].concat();
    let of = |name: &str, panel: LinePanel, formats: &[&str]| -> Vec<Piece> {
        let piece = |format: &&str| {
            let text = shown(vec![panel.clone()], format);
            let text = if *format == "html" { set_out(&text) } else { text };
            Piece::new(format!("{name}: {format}"), text)
        };
        formats.iter().map(piece).collect()
    };
    [
        of("all that a point can be", eventful(), &["html", "term", "md"]),
        of("published figures", published(), &["html", "term"]),
        of("pale lines, and those of a model", panel(&[1.0, 2.0, 4.0], lines), &["html", "term"]),
    ]
    .concat()
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
