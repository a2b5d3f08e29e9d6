//! Trials over time: the clients' work, the engines' debts, and their payments.

mod idle;

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{CellView, LinePiece, OverTime, OwedOverTime};
use bakeoff_results::PaymentSeries;

use crate::block::{
    ColumnKind, CourseTracks, Folded, Moments, ReportBlock, ReportCell, Timeline, TimelineUnit,
    Timelines, Track, TrackHeight, TrackLine, TrackLines,
};
use crate::cell_tables::{self, ColumnHead};
use crate::chart::find_style;
use crate::figures::{self, NONE};
use crate::words;

/// Settings with the least even trials are shown; the others are folded.
const SHOWN: usize = 4;

const EXPLAINED: &str = "One trial of each cell, second by second: of each setting those of the \
                         block whose throughput is in the middle, so that its levels ran back to \
                         back. What an engine puts off (a log to checkpoint, pages to write, tables \
                         to compact) it pays later, and a mean over the whole trial does not show \
                         when. Thirds: operations a second, of all kinds, in each third of the trial. \
                         Every second of every trial: --format csv --rows series.";

const READ: &str = "A point a second; of a trial of over 300 seconds a point is the mean of several, \
                    and a band goes from the least to the most of them, so that no second is left \
                    out. Bars below the axis: seconds in which no operation ended. Shaded: outside \
                    the window that all other figures are from. Dashed: where the engine begins to pay \
                    at the latest. Ticks: when it was seen to have paid.";

const COLUMNS: [ColumnHead; 7] = [
    ("per second, first third", Some("1/s, first third"), ColumnKind::Main),
    ("second third", None, ColumnKind::Number),
    ("last third", Some("last third"), ColumnKind::Main),
    ("seconds with no operation", Some("no operation"), ColumnKind::Number),
    ("longest such stretch", Some("longest"), ColumnKind::Number),
    ("nearest to a limit", None, ColumnKind::LongNumber),
    ("paid", None, ColumnKind::LongNumber),
];

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let known = |condition: &&ConditionLevels| !find_courses(layout, condition).is_empty();
    let settings: Vec<&ConditionLevels> = layout.conditions.iter().filter(known).collect();
    let mut blocks = idle::build_lines(layout);
    if settings.is_empty() {
        return blocks;
    }
    let charted = layout.charted_levels();
    let (shown, folded) = least_even(layout, &settings);
    let charts = |numbers: &[usize]| {
        numbers.iter().flat_map(|at| build_charts(layout, *at, settings[*at])).collect()
    };
    let legend = charted.iter().map(|level| sign_level(layout, level)).collect();
    blocks.extend([
        ReportBlock::Lead(EXPLAINED.into()),
        ReportBlock::Timelines(Timelines {
            explained: READ.into(),
            legend,
            charts: charts(&shown),
        }),
    ]);
    if !folded.is_empty() {
        let more = Timelines { charts: charts(&folded), ..Timelines::default() };
        blocks.push(ReportBlock::Folded(Folded {
            summary: format!(
                "{} over time, more even than those above",
                words::count_nouns(folded.len(), "setting")
            ),
            blocks: vec![ReportBlock::Timelines(more)],
            long: true,
        }));
    }
    let cells = |level: &str, cell: &CellView| {
        let shown = cell.over_time.as_ref().filter(|_| charted.contains(&level));
        shown.map(format_cells)
    };
    let caption = "Over time: every cell";
    let table = cell_tables::build_table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
    blocks.extend(table.map(ReportBlock::Table));
    blocks
}

/// Numbers of the settings that are shown and that are folded, each in their order.
fn least_even(
    layout: &DocumentLayout<'_>,
    settings: &[&ConditionLevels<'_>],
) -> (Vec<usize>, Vec<usize>) {
    let evenness = |at: &usize| {
        let courses = find_courses(layout, settings[*at]).into_iter();
        let of = |(_, course): (&str, &OverTime)| {
            let thirds = course.thirds_per_second;
            let (least, most) =
                thirds.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), it| (l.min(*it), m.max(*it)));
            least / most.max(f64::MIN_POSITIVE)
        };
        courses.map(of).fold(f64::INFINITY, f64::min)
    };
    let mut shown: Vec<usize> = (0..settings.len()).collect();
    shown.sort_by(|one, other| evenness(one).total_cmp(&evenness(other)));
    let mut folded = shown.split_off(settings.len().min(SHOWN));
    shown.sort_unstable();
    folded.sort_unstable();
    (shown, folded)
}

fn sign_level(layout: &DocumentLayout<'_>, level: &str) -> ReportCell {
    ReportCell { style: Some(find_style(layout, level)), ..level.into() }
}

fn find_courses<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
) -> Vec<(&'a str, &'a OverTime)> {
    let of = |level| Some((level, layout.cell(condition, level)?.over_time.as_ref()?));
    layout.charted_levels().into_iter().filter_map(of).collect()
}

/// One chart of the clients at all levels, and one of the debts at each level.
fn build_charts<'a>(
    layout: &DocumentLayout<'a>,
    number: usize,
    condition: &ConditionLevels<'a>,
) -> Vec<Timeline> {
    let courses = find_courses(layout, condition);
    let place = words::describe_place(layout, condition).trim_start_matches(" with ").to_owned();
    let ran_s = courses.iter().map(|(_, it)| it.ran_s).fold(0.0, f64::max);
    let window_s = courses.iter().find_map(|(_, it)| it.window_s);
    let mut charts = vec![CourseTracks {
        id: format!("t{number}"),
        caption: words::capitalize(&place),
        description: describe_courses(&courses),
        ran_s,
        window_s,
        tracks: work_tracks(layout, &courses),
    }];
    for (at, (level, course)) in courses.iter().enumerate() {
        let tracks = debt_tracks(course, find_style(layout, level));
        if !tracks.is_empty() {
            let name = words::name_contender(layout.compare, level);
            let with = if place.is_empty() { String::new() } else { format!(", with {place}") };
            charts.push(CourseTracks {
                id: format!("t{number}d{at}"),
                caption: format!("What {name} owed{with}"),
                description: owed_in_words(course),
                ran_s,
                window_s: None,
                tracks,
            });
        }
    }
    charts.into_iter().map(Timeline::from).collect()
}

fn work_tracks(layout: &DocumentLayout<'_>, courses: &[(&str, &OverTime)]) -> Vec<Track> {
    let lines = |pieces: fn(&OverTime) -> &Vec<LinePiece>| {
        let line = |(level, course): &(&str, &OverTime)| TrackLine {
            name: (*level).into(),
            style: find_style(layout, level),
            pieces: pieces(course).clone(),
        };
        courses.iter().map(line).collect()
    };
    let track = |title: &str, unit, size, lines| {
        Track::Lines(TrackLines { title: title.into(), unit, size, limit: None, lines })
    };
    let rate = lines(|course| &course.per_second);
    let latency = lines(|course| &course.latency_s);
    vec![
        track("operations a second", TimelineUnit::Rate, TrackHeight::Tall, rate),
        track(words::name_metric(layout), TimelineUnit::Seconds, TrackHeight::Middle, latency),
    ]
}

fn debt_tracks(course: &OverTime, style: usize) -> Vec<Track> {
    let owed = course.owed.iter().filter(|owed| !owed.pieces.is_empty()).map(|owed| {
        Track::Lines(TrackLines {
            title: owed_title(owed),
            unit: if owed.unit == "bytes" { TimelineUnit::Bytes } else { TimelineUnit::Count },
            size: TrackHeight::Low,
            limit: owed.limit.map(|limit| limit as f64),
            lines: vec![TrackLine { name: owed.name.clone(), style, pieces: owed.pieces.clone() }],
        })
    });
    let paid = course.payments.iter().map(|payment| {
        let (title, ended) = (payment.name.clone(), payment.ended.clone());
        Track::Moments(Moments { title, style, ended })
    });
    owed.chain(paid).collect()
}

/// "history list length, rows"; bytes say so at their axis.
fn owed_title(owed: &OwedOverTime) -> String {
    match owed.unit.as_str() {
        "bytes" => owed.name.clone(),
        unit if owed.name.contains(unit) => owed.name.clone(),
        unit => format!("{}, {unit}", owed.name),
    }
}

fn describe_courses(courses: &[(&str, &OverTime)]) -> String {
    let says = |(level, course): &(&str, &OverTime)| {
        let thirds = course.thirds_per_second.map(words::format_digits);
        format!("{level} {}", thirds.join(", "))
    };
    let levels: Vec<String> = courses.iter().map(says).collect();
    format!(
        "Operations a second in the first, the second and the last third of the trial: {}. The table \
         below has more.",
        levels.join("; ")
    )
}

fn owed_in_words(course: &OverTime) -> String {
    let owed = course.owed.iter().filter_map(|owed| {
        let most = most_owed(owed)?;
        let text = |amount| match owed.unit.as_str() {
            "bytes" => words::format_bytes(amount),
            unit => format!("{} {unit}", words::format_count(amount)),
        };
        let limit = owed.limit.map_or(String::new(), |limit| format!(" of {}", text(limit)));
        Some(format!("{}: at most {}{limit}", owed.name, text(most as u64)))
    });
    let paid =
        course.payments.iter().map(|payment| format!("{}: {}", payment.name, count_paid(payment)));
    format!("{}.", owed.chain(paid).collect::<Vec<_>>().join("; "))
}

fn most_owed(owed: &OwedOverTime) -> Option<f64> {
    owed.pieces.iter().filter_map(|piece| piece.most).reduce(f64::max)
}

fn count_paid(payment: &PaymentSeries) -> u64 {
    payment.ended.iter().fold(0, |sum, (_, number)| sum.saturating_add(*number))
}

fn format_cells(course: &OverTime) -> [String; COLUMNS.len()] {
    let [first, second, last] = course.thirds_per_second.map(words::format_digits);
    let idle = |seconds: f64| match seconds {
        0.0 => NONE.to_owned(),
        seconds => format!("{} s", words::format_count(seconds.round() as u64)),
    };
    let share = |owed: &OwedOverTime| {
        let limit = owed.limit.filter(|limit| *limit > 0)?;
        Some((most_owed(owed)? / limit as f64, owed.name.clone()))
    };
    let nearest =
        course.owed.iter().filter_map(share).max_by(|one, other| one.0.total_cmp(&other.0));
    let paid: Vec<String> = course
        .payments
        .iter()
        .map(|payment| format!("{} × {}", payment.name, words::format_count(count_paid(payment))))
        .collect();
    [
        first,
        second,
        last,
        idle(course.idle_s),
        idle(course.longest_idle_s),
        nearest.map_or(NONE.into(), |(share, name)| {
            format!("{name} {}", words::format_percent(share))
        }),
        if paid.is_empty() { figures::NONE.into() } else { paid.join(", ") },
    ]
}
