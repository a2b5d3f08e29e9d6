//! Published figures beside ours, by shape alone.

mod lines;

pub(super) use lines::place_published as figure_of;

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Ours, PublishedStatement, RatioBound, RatioShape};
use bakeoff_results::published::{
    Publication as Source, PublishedFigure, PublishedTable as Figures, PublishedValue, Quantity,
};

use crate::block::{
    CellMark, ColumnKind, Folded, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable,
    StyledText, Tone,
};
use crate::cell_tables;
use crate::figures::NONE;
use crate::words;

const EXPLAINED: &str = "Each side is divided by its own base, so that neither’s hardware has a part in it; \
                         seconds are theirs or ours, and are never compared. In brackets: where the true \
                         ratio lies, 19 times in 20. Same shape: all of this range lies within 1.25 times \
                         of what was published. Compatible: the range holds what was published, and \
                         its upper end is at most 1.5 times its lower one; that shows nothing. \
                         Stronger, weaker, not the same: all of the range lies further off than 1.25 \
                         times, or goes the opposite way. A change of under 10 % is none.";

/// Space belongs to no operation.
const SPACE: &str = "space on disk";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let source = document.run.run.published.as_ref();
    let Some((source, view)) = source.zip(document.published.as_ref()) else {
        return Vec::new();
    };
    let mut blocks = vec![
        ReportBlock::Note(StyledText::default().stressed(source.question.as_str())),
        ReportBlock::Facts(list_facts(source)),
    ];
    blocks.extend(build_sentence(layout, &view.statements).map(ReportBlock::Note));
    blocks.push(ReportBlock::Note(describe_counts(&view.statements, view.elsewhere).into()));
    if !view.statements.is_empty() {
        blocks.extend(lines::build_lines(layout, &view.statements).map(ReportBlock::Sweeps));
        blocks.push(ReportBlock::Lead(EXPLAINED.into()));
        blocks.push(ReportBlock::Table(build_table(layout, &view.statements)));
    }
    blocks.push(list_published(source));
    blocks
}

fn list_facts(source: &Source) -> Vec<(String, String)> {
    let url = source.url.iter().map(|url| format!(", {url}"));
    let article = format!("{}, {}{}", source.source, source.date, url.collect::<String>());
    let differs = source.differs.iter().flat_map(|it| [("there", &it.there), ("here", &it.here)]);
    let differs = differs.map(|(name, text)| (name.to_owned(), text.clone()));
    [("article".to_owned(), article)].into_iter().chain(differs).collect()
}

/// The smallest and largest published ratio of an operation, with ours. `None` where no published
/// figure is of a planned cell.
fn build_sentence(
    layout: &DocumentLayout<'_>,
    statements: &[PublishedStatement],
) -> Option<StyledText> {
    let told = || statements.iter().filter(|it| it.shape.sign() != "?");
    let known = || told().filter_map(|it| Some((it, sort_value(it.theirs?), it.ours?)));
    let far = |it: &(&PublishedStatement, f64, Ours)| it.1.ln().abs();
    // Times of operations come before space.
    let weight = |it: &(&PublishedStatement, f64, Ours)| (it.0.of != Quantity::Space, far(it));
    let most = known().max_by(|one, other| {
        let ((is, one), (other_is, other)) = (weight(one), weight(other));
        is.cmp(&other_is).then(one.total_cmp(&other))
    });
    let Some(most) = most else {
        let nothing = "Nothing can be told of any figure here; the table says why.";
        return (!statements.is_empty()).then(|| StyledText::default().plain(nothing));
    };
    let alike = |it: &(&PublishedStatement, f64, Ours)| {
        it.0.operation == most.0.operation
            && it.0.of == most.0.of
            && name_pair(it.0) == name_pair(most.0)
    };
    let least = known().filter(alike).min_by(|one, other| far(one).total_cmp(&far(other)))?;
    let times = |ours: &Ours| format!("{} times", words::format_times(ours.ratio, ours.ratio_is));
    let what = most.0.operation.as_deref().unwrap_or(SPACE);
    let one = std::ptr::eq(least.0, most.0);
    let start = format!("{what}, {}: ours is ", name_pair(most.0));
    let mut said = StyledText::default().plain(start);
    if !one {
        said = said
            .stressed(times(&least.2))
            .plain(format!("{} and ", describe_place(layout, least.0)));
    }
    said = said
        .stressed(times(&most.2))
        .plain(format!("{}; published: ", describe_place(layout, most.0)));
    let [least, most] = [least, most].map(|it| it.0.theirs.map_or(NONE.into(), format_theirs));
    Some(said.plain(if one {
        format!("{most} times.")
    } else {
        format!("{least} and {most} times.")
    }))
}

fn sort_value(value: PublishedValue) -> f64 {
    match value {
        PublishedValue::Exactly(ratio)
        | PublishedValue::AtLeast(ratio)
        | PublishedValue::AtMost(ratio) => ratio,
        PublishedValue::Between(low, high) => (low * high).sqrt(),
    }
}

pub const COUNTED: [&str; 5] =
    ["same shape", "compatible", "same direction", "not the same", "can’t tell"];

pub fn count_shapes(statements: &[PublishedStatement]) -> [usize; 5] {
    let of = |sign: &str| statements.iter().filter(|it| it.shape.sign() == sign).count();
    ["=", "~", "≈", "≠", "?"].map(of)
}

fn describe_counts(statements: &[PublishedStatement], elsewhere: u32) -> String {
    let counts =
        COUNTED.iter().zip(count_shapes(statements)).map(|(told, count)| format!("{told} {count}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let mut said = format!("{}: {counts}.", words::count_nouns(statements.len(), "statement"));
    if elsewhere > 0 {
        let more = words::count_nouns(elsewhere as usize, "more published figure");
        let are = if elsewhere == 1 { "is" } else { "are" };
        said += &format!(" {more} {are} of levels that this run does not have.");
    }
    said
}

/// `mariadb:innodb ÷ mariadb:rocksdb`.
fn name_pair(statement: &PublishedStatement) -> String {
    let side = |level: &dyn Fn(&String) -> Option<String>| {
        let sides: Vec<String> = statement.base.keys().filter_map(level).collect();
        sides.join(" and ")
    };
    let here = |factor: &String| {
        statement.levels.get(factor).map(|level| words::phrase_level(factor, level))
    };
    let base = |factor: &String| {
        statement.base.get(factor).map(|level| words::phrase_level(factor, level))
    };
    format!("{} ÷ {}", side(&here), side(&base))
}

/// Levels that vary here and are the same on both sides.
fn name_condition(layout: &DocumentLayout<'_>, statement: &PublishedStatement) -> String {
    let compare = [layout.compare].into_iter().filter(|_| layout.levels.len() > 1);
    let varying = compare.chain(layout.varying.iter().copied());
    let shared = varying.filter(|factor| !statement.base.contains_key(*factor));
    let level = |factor: &str| {
        let level = statement.levels.get(factor)?;
        Some(words::phrase_level(factor, level))
    };
    shared.filter_map(level).collect::<Vec<_>>().join(", ")
}

fn describe_place(layout: &DocumentLayout<'_>, statement: &PublishedStatement) -> String {
    let condition = name_condition(layout, statement);
    if condition.is_empty() { condition } else { format!(" with {condition}") }
}

fn build_table(layout: &DocumentLayout<'_>, statements: &[PublishedStatement]) -> ReportTable {
    let pairs: Vec<String> = statements.iter().map(name_pair).collect();
    let one = pairs.iter().all(|it| *it == pairs[0]);
    let mut columns = vec![
        ReportColumn::new(ColumnKind::Name, "what"),
        ReportColumn::new(ColumnKind::Level, "with"),
    ];
    if !one {
        columns.push(ReportColumn::new(ColumnKind::Level, "ratio"));
    }
    columns.push(ReportColumn::new(ColumnKind::Number, "published"));
    columns.push(ReportColumn::new(ColumnKind::LongNumber, "ours"));
    columns.push(ReportColumn::new(ColumnKind::Verdict, "same shape?"));
    let row = |(statement, pair): (&PublishedStatement, &String)| {
        let what = statement.operation.as_deref().unwrap_or(SPACE);
        let place = match statement.of {
            Quantity::Space => String::new(),
            _ => name_condition(layout, statement),
        };
        let mut cells: Vec<ReportCell> = vec![what.into(), place.into()];
        if !one {
            cells.push(pair.as_str().into());
        }
        cells.push(statement.theirs.map_or(NONE.into(), format_theirs).into());
        let marks = mark_cached(layout, statement);
        cells.push(ReportCell {
            marks,
            ..statement.ours.as_ref().map_or(NONE.into(), format_ours).into()
        });
        cells.push(describe_shape(&statement.shape));
        ReportRow { cells, ..ReportRow::default() }
    };
    let caption = if one { pairs[0].clone() } else { String::new() };
    ReportTable {
        caption: caption.into(),
        columns,
        rows: statements.iter().zip(&pairs).map(row).collect(),
        ..ReportTable::default()
    }
}

fn mark_cached(layout: &DocumentLayout<'_>, statement: &PublishedStatement) -> Vec<CellMark> {
    if statement.ours.is_none() || statement.of == Quantity::Space {
        return Vec::new();
    }
    let mut base = statement.levels.clone();
    base.extend(statement.base.clone());
    cell_tables::mark_cached(layout, &[statement.levels.clone(), base])
}

fn describe_shape(shape: &RatioShape) -> ReportCell {
    let tone = match shape.sign() {
        "=" => Tone::Good,
        "?" => Tone::Open,
        _ => Tone::Plain,
    };
    ReportCell { tone, ..format!("{} {}", shape.sign(), shape.words()).into() }
}

fn format_theirs(value: PublishedValue) -> String {
    match value {
        PublishedValue::Exactly(ratio) => words::format_ratio(ratio),
        PublishedValue::AtLeast(ratio) => words::ratio_or_bound(ratio, RatioBound::AtLeast),
        PublishedValue::AtMost(ratio) => words::ratio_or_bound(ratio, RatioBound::AtMost),
        PublishedValue::Between(low, high) => words::ratio_range(low, high),
    }
}

fn format_ours(it: &Ours) -> String {
    let ratio = words::ratio_or_bound(it.ratio, it.ratio_is);
    match words::format_ends((it.low, it.high), it.ratio_is, it.pairs) {
        Some(ends) => format!("{ratio} ({ends})"),
        None => ratio,
    }
}

fn list_published(source: &Source) -> ReportBlock {
    let blocks = source.tables.iter().map(|table| ReportBlock::Table(as_published(table)));
    ReportBlock::Folded(Folded {
        summary: "All published figures, as they were published".into(),
        blocks: blocks.collect(),
        long: true,
    })
}

fn as_published(table: &Figures) -> ReportTable {
    let mut factors: Vec<&str> = Vec::new();
    for factor in table.figures.iter().flat_map(|figure| figure.levels.keys()) {
        if !factors.contains(&factor.as_str()) {
            factors.push(factor);
        }
    }
    let mut columns = vec![ReportColumn::new(ColumnKind::Name, "what")];
    columns.extend(factors.iter().map(|factor| ReportColumn::new(ColumnKind::Level, *factor)));
    columns.push(ReportColumn::new(ColumnKind::Number, "published"));
    let row = |figure: &PublishedFigure| {
        let level = |factor: &&str| figure.levels.get(*factor).map_or(NONE, String::as_str);
        let what = figure.operation.as_deref().unwrap_or(SPACE);
        let value = figure.value.map_or(NONE.into(), |value| {
            let number = match value {
                PublishedValue::Exactly(value) => words::format_digits(value),
                PublishedValue::AtLeast(value) => format!("≥ {}", words::format_digits(value)),
                PublishedValue::AtMost(value) => format!("≤ {}", words::format_digits(value)),
                // Shown as it was published.
                PublishedValue::Between(low, high) => format!("{low}–{high}"),
            };
            format!("{number} {}", figure.unit)
        });
        let levels: Vec<&str> = factors.iter().map(level).collect();
        ReportRow::from_cells([what].into_iter().chain(levels).chain([value.as_str()]))
    };
    ReportTable {
        caption: table.file.as_str().into(),
        columns,
        rows: table.figures.iter().map(row).collect(),
        ..ReportTable::default()
    }
}
