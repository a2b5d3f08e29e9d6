//! Shows the worth of the compared levels to other workloads.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{ApplicationView, Comparison, Contrast, Verdict};

use crate::block::{
    CellMark, ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable,
};
use crate::cell_tables;
use crate::figures::NONE;
use crate::verdict::{self, HELD_BACK, mark_verdict};
use crate::words;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let others = &layout.document.applications;
    if others.is_empty() {
        return Vec::new();
    }
    let mut blocks =
        vec![ReportBlock::Lead(build_lead(layout).into()), ReportBlock::Table(build_table(layout))];
    for other in others.iter().filter(|other| !other.differences.is_empty()) {
        let (folder, differs) = (&other.folder, other.differences.join("; "));
        blocks.push(ReportBlock::Note(format!("What differs in {folder}: {differs}.").into()));
    }
    blocks
}

fn build_lead(layout: &DocumentLayout<'_>) -> String {
    let run = &layout.document.run.run;
    let ends = match &layout.document.sweep {
        Some(sweep) => format!("; of {}, its first and its last level", sweep.factor),
        None => String::new(),
    };
    format!(
        "How many times as fast as with {}: by {} in this run{ends}, and by other workloads on the same \
         levels, each against its own trials of the same blocks. Where the rows of an application stay near 1, \
         what the level does by itself is worth little to it.",
        words::name_contender(&run.compare, &run.baseline),
        run.workload
    )
}

/// Comparisons of an operation under equal conditions.
struct ApplicationLine<'a> {
    workload: &'a str,
    operation: &'a str,
    condition: String,
    levels: Vec<&'a Comparison>,
}

fn build_table(layout: &DocumentLayout<'_>) -> ReportTable {
    let document = layout.document;
    let own = document.comparisons.iter().filter(|it| is_at_an_end(layout, it));
    let mut lines = group_lines(&document.run.run.workload, own, &layout.varying);
    for ApplicationView { workload, varying, comparisons, .. } in &document.applications {
        let varying: Vec<&str> = varying.iter().map(String::as_str).collect();
        lines.extend(self::group_lines(workload, comparisons.iter(), &varying));
    }
    let is_common = |level: &&&str| {
        let has = |other: &ApplicationView| other.comparisons.iter().any(|it| it.level == ***level);
        document.applications.iter().any(has)
    };
    let levels: Vec<&str> = layout.levels.iter().filter(is_common).copied().collect();
    let row = |line: &ApplicationLine<'_>| {
        let cell = |level: &&str| {
            let found = line.levels.iter().find(|it| it.level == **level);
            found.map_or(NONE.into(), |it| ReportCell {
                marks: mark_cached(layout, it),
                ..format_comparison(it).into()
            })
        };
        let names = [line.workload.to_owned(), line.operation.to_owned(), line.condition.clone()];
        let cells =
            names.into_iter().map(ReportCell::from).chain(levels.iter().map(cell)).collect();
        ReportRow { cells, ..ReportRow::default() }
    };
    let rows: Vec<ReportRow> = lines.iter().map(row).collect();
    let held_back = rows.iter().flat_map(|row| &row.cells).any(|it| it.text.ends_with(HELD_BACK));
    let names = [
        (ColumnKind::Condition, "workload"),
        (ColumnKind::Name, "operation"),
        (ColumnKind::Level, "with"),
    ];
    let names = names.map(|(kind, name)| ReportColumn::new(kind, name));
    let figures = levels.iter().map(|level| ReportColumn::new(ColumnKind::LongNumber, *level));
    ReportTable {
        caption: format!("Times as fast as with {}", document.run.run.baseline).into(),
        columns: names.into_iter().chain(figures).collect(),
        rows,
        note: held_back.then(|| verdict::explain_mark(None)),
        ..ReportTable::default()
    }
}

/// Marks comparisons of this run that are of the page cache.
fn mark_cached(layout: &DocumentLayout<'_>, comparison: &Comparison) -> Vec<CellMark> {
    let Comparison { factor, level, baseline, levels, .. } = comparison;
    let side = |level: &String| {
        let mut side = levels.clone();
        side.insert(factor.clone(), level.clone());
        side
    };
    let is_own = layout.document.comparisons.iter().any(|own| std::ptr::eq(own, comparison));
    if is_own {
        cell_tables::mark_cached(layout, &[side(level), side(baseline)])
    } else {
        Vec::new()
    }
}

/// At an end of the axis that lines are over.
fn is_at_an_end(layout: &DocumentLayout<'_>, comparison: &Comparison) -> bool {
    let Some(sweep) = &layout.document.sweep else { return true };
    let ends = [sweep.levels.first(), sweep.levels.last()];
    let level = comparison.levels.get(&sweep.factor);
    ends.into_iter().flatten().any(|end| Some(&end.level) == level)
}

fn group_lines<'a>(
    workload: &'a str,
    comparisons: impl Iterator<Item = &'a Comparison>,
    varying: &[&str],
) -> Vec<ApplicationLine<'a>> {
    let mut lines: Vec<ApplicationLine<'a>> = Vec::new();
    for comparison in comparisons {
        let levels = varying.iter();
        let levels =
            levels.filter_map(|it| Some(words::phrase_level(it, comparison.levels.get(*it)?)));
        let condition = levels.collect::<Vec<_>>().join(", ");
        let operation = comparison.operation.as_str();
        let is_its =
            |it: &&mut ApplicationLine<'_>| it.operation == operation && it.condition == condition;
        match lines.iter_mut().find(is_its) {
            Some(line) => line.levels.push(comparison),
            None => {
                let levels = vec![comparison];
                lines.push(ApplicationLine { workload, operation, condition, levels });
            }
        }
    }
    lines
}

/// "1.85 (1.60 to 2.10)", with its doubts.
fn format_comparison(comparison: &Comparison) -> String {
    let Some(slower) = Contrast::from_comparison(comparison) else { return NONE.into() };
    let faster = slower.with_inverse_ratio();
    let ratio = words::ratio_or_bound(faster.ratio, faster.is);
    let ends = words::format_ends(faster.ends, faster.is, faster.blocks);
    let ends = ends.map_or(String::new(), |ends| format!(" ({ends})"));
    let word = match slower.verdict {
        Verdict::Faster | Verdict::Slower => String::new(),
        verdict if slower.is_held_back() => format!(", {}", mark_verdict(verdict)),
        verdict => format!(", {}", verdict.word()),
    };
    format!("{ratio}{ends}{word}")
}
