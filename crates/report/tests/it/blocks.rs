//! A block of every kind in every format.

use bakeoff_analysis::LinePiece;
use bakeoff_report::block::{
    Charts, ColumnKind, CourseTracks, Finding, Folded, Link, ReportBlock, ReportCell, ReportColumn,
    ReportRow, ReportTable, SvgChart, TimelineUnit, Timelines, Track, TrackHeight, TrackLine,
    TrackLines,
};
use bakeoff_report::{Options, render_blocks};

use crate::reading::between;
use crate::snapshots::{Piece, set_out};

const HOSTILE: &str = "<b>*own*</b>";

/// A block of every kind, and every text as bad as it can be.
fn blocks() -> Vec<ReportBlock> {
    let table = ReportTable {
        caption: "Own table".into(),
        columns: vec![
            ReportColumn::new(ColumnKind::Name, "name"),
            ReportColumn::new(ColumnKind::Number, "shown").with_short(Some("few")),
            ReportColumn::new(ColumnKind::Number, "wide").with_short(None::<String>),
        ],
        rows: vec![ReportRow::from_cells(["first", HOSTILE, "12345"])],
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
    let line = TrackLine { name: HOSTILE.into(), style: 1, pieces: vec![piece(1.0), piece(11.0)] };
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
        ReportBlock::Link(Link { text: "Own link".into(), path: "own/path.html".into() }),
    ]
}

fn read_text(format: &str) -> String {
    render_blocks("Own figures", blocks(), format, &Options::default()).expect("a report")
}

pub fn pieces() -> Vec<Piece> {
    let page = read_text("html");
    let main = between(&page, "<main>", "</main>");
    vec![
        Piece::new("html", set_out(main)),
        Piece::new("md", read_text("md")),
        Piece::new("term", read_text("term")),
    ]
}

#[test]
fn what_a_section_says_is_escaped() {
    let page = read_text("html");
    assert!(!page.contains("<b>*own*") && page.contains("&lt;b&gt;*own*"), "{page}");
    assert!(read_text("md").contains("\\<b\\>\\*own\\*"));
}
