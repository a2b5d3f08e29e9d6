//! A section and a format that are not built in.

use bakeoff_analysis::{Document, LinePiece};
use bakeoff_report::block::{
    Charts, ColumnKind, CourseTracks, Finding, Folded, ReportBlock, ReportCell, ReportColumn,
    ReportRow, ReportTable, SvgChart, TimelineUnit, Timelines, Track, TrackHeight, TrackLine,
    TrackLines,
};
use bakeoff_report::{DocumentLayout, Error, Exporter, Options, Reports, Result, Section};

use crate::sample::Sample;

/// A section with a block of every kind, and every text as bad as it can be.
struct Own {
    background: bool,
}

const HOSTILE: &str = "<b>*own*</b>";

impl Section for Own {
    fn name(&self) -> &str {
        "own"
    }

    fn title(&self) -> &str {
        "Own figures"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let table = ReportTable {
            caption: "Own table".into(),
            columns: vec![
                ReportColumn::new(ColumnKind::Name, "name"),
                ReportColumn::new(ColumnKind::Number, "shown").short(Some("few")),
                ReportColumn::new(ColumnKind::Number, "wide").short(None::<String>),
            ],
            rows: vec![ReportRow::from_cells([layout.levels[0], HOSTILE, "12345"])],
            note: Some("Own remark".into()),
            ..ReportTable::default()
        };
        let svg = "<svg><title>own chart</title></svg>".to_owned();
        let piece = |at: f64| LinePiece {
            start_s: at,
            end_s: at + 10.0,
            mean: Some(at),
            least: Some(at),
            most: Some(at),
        };
        let line =
            TrackLine { name: HOSTILE.into(), style: 1, pieces: vec![piece(1.0), piece(11.0)] };
        let course = CourseTracks {
            id: "own".into(),
            caption: "Own course".into(),
            description: HOSTILE.into(),
            ran_s: 21.0,
            window_s: None,
            tracks: vec![Track::Lines(TrackLines {
                title: "Own rate".into(),
                unit: TimelineUnit::Rate,
                size: TrackHeight::Tall,
                limit: None,
                lines: vec![line],
            })],
        };
        let finding = Finding {
            of: HOSTILE.into(),
            text: "Found".into(),
            bad: true,
            log: Some(("Own log".into(), HOSTILE.into())),
            again: Some("own again".into()),
        };
        let folded = vec![ReportBlock::Facts(vec![("own fact".into(), HOSTILE.into())])];
        vec![
            ReportBlock::Heading("Own heading".into()),
            ReportBlock::Lead("Own lead".into()),
            ReportBlock::Note("Own note".into()),
            ReportBlock::Prose("Own prose".into()),
            ReportBlock::Table(table),
            ReportBlock::Charts(Charts {
                explained: "Own bars".into(),
                legend: vec![ReportCell { style: Some(1), ..HOSTILE.into() }],
                charts: vec![SvgChart { caption: "Own caption".into(), svg }],
            }),
            ReportBlock::Timelines(Timelines {
                explained: "Own lines".into(),
                legend: Vec::new(),
                charts: vec![course.into()],
            }),
            ReportBlock::Findings(vec![finding]),
            ReportBlock::Folded(Folded { summary: "Own fold".into(), blocks: folded, long: false }),
            ReportBlock::Command("own --command".into()),
        ]
    }

    fn is_background(&self) -> bool {
        self.background
    }
}

/// The headings alone.
struct Headings;

impl Exporter for Headings {
    fn name(&self) -> &'static str {
        "headings"
    }

    fn about(&self) -> &'static str {
        "The headings alone"
    }

    fn endings(&self) -> &[&'static str] {
        &["outline"]
    }

    fn write(&self, _: &Document, sections: &[Box<dyn Section>], _: &Options) -> Result<String> {
        let titles = sections.iter().map(|section| section.title());
        Ok(titles.filter(|title| !title.is_empty()).map(|title| format!("{title}\n")).collect())
    }
}

fn reports(background: bool) -> Reports {
    let mut reports = Reports::standard();
    reports.section(Box::new(Own { background })).expect("a free name");
    reports
}

fn text(reports: &Reports, format: &str) -> String {
    let document = Sample::default().document();
    reports.render(&document, format, &Options::default()).expect("a report")
}

#[test]
fn every_format_shows_the_blocks_that_it_has_room_for() {
    const ALL: [&str; 4] = ["Own figures", "Own heading", "Own note", "Own remark"];
    const TERM: [&str; 4] = ["few", "Own table", "again: own again", "own --command"];
    const TEXT: [&str; 7] =
        ["Own lead", "Own prose", "shown", "12345", "Own fold", "own fact", "own again"];
    const PAGE: [&str; 5] = ["Own bars", "Own caption", "own chart", "Own log", "Own lines"];
    const COURSE: [&str; 2] = ["Own course", "Own rate"];
    let reports = reports(false);
    let has = |format, parts: &[&str], wanted: bool| {
        let text = text(&reports, format).replace("<span class=\"whole\">", "");
        let text = text.replace("</span>", "");
        for part in parts {
            assert_eq!(text.contains(part), wanted, "{part} in {format}:\n{text}");
        }
    };
    ["html", "md", "term"].into_iter().for_each(|format| has(format, &ALL, true));
    ["html", "md"].into_iter().for_each(|format| has(format, &TEXT, true));
    has("term", &TERM, true);
    has("html", &PAGE, true);
    ["html", "term"].into_iter().for_each(|format| has(format, &COURSE, true));
    has("md", &COURSE, false);
    has("md", &PAGE, false);
    has("term", &PAGE, false);
    has("term", &["Own lead", "Own prose", "shown", "12345", "Own fold", "own fact"], false);
}

#[test]
fn what_a_section_says_is_escaped() {
    let reports = reports(false);
    let page = text(&reports, "html");
    assert!(!page.contains("<b>*own*") && page.contains("&lt;b&gt;*own*"), "{page}");
    assert!(text(&reports, "md").contains("\\<b\\>\\*own\\*"));
}

#[test]
fn a_section_comes_before_the_background_and_a_terminal_shows_none_of_that() {
    let [own, background] = [false, true].map(reports);
    let at = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
    let page = text(&own, "html");
    let own_at = at(&page, "<section id=\"own\">");
    assert!(at(&page, "id=\"processor\"") < own_at && own_at < at(&page, "id=\"space\""));
    let page = text(&background, "html");
    assert!(at(&page, "id=\"method\"") < at(&page, "<section id=\"own\">"));
    assert!(!text(&background, "term").contains("Own figures"));
    let term = text(&own, "term");
    assert!(at(&term, "Own figures") < at(&term, "machine: "), "the first screen is the last");
}

#[test]
fn a_format_of_ones_own_has_all_sections() {
    let mut reports = reports(false);
    reports.exporter(Box::new(Headings)).expect("a free name");
    assert!(text(&reports, "headings").contains("What it cost\n"));
    assert!(text(&reports, "headings").contains("Own figures\n"));
    assert_eq!(reports.format_of("OUTLINE"), Some("headings"));
    assert_eq!(reports.formats().last(), Some("headings"));
}

#[test]
fn a_name_can_be_had_once() {
    let section = reports(false).section(Box::new(Own { background: true }));
    assert!(matches!(section, Err(Error::Taken { what: "section", .. })));
    let mut exporter = Reports::standard();
    exporter.exporter(Box::new(Headings)).unwrap();
    let error = exporter.exporter(Box::new(Headings)).expect_err("taken");
    assert_eq!(error.to_string(), "there is a format `headings` already; choose another name");
}
