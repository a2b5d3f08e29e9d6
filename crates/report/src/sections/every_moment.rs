//! Images of every moment of one run: how many were drawn, how many differ, and the findings.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_results::{Cut, EveryByRule, EveryMoment, FileSystem, FirstBroken};

use crate::block::{
    ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, StyledText, Tone,
};
use crate::figures::NONE;
use crate::words;

const EXPLAINED: &str = "Of one short run of the clients, the disk remembered every change. A *moment* \
     lies before and after each write, inside each sync, and between all else that changes what is \
     durable. *Drawn*: what a cut at each of them may leave, by the rule, from several seeds. \
     *Different*: those of these that are not alike; each is opened, checked and audited once, and held \
     against all that was acknowledged by the latest moment that has it. An image that two rules drew \
     counts for both.";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let cuts = &layout.document.cuts;
    let tried: Vec<(&Cut, &EveryMoment)> =
        cuts.iter().filter_map(|cut| Some((cut, cut.every.as_ref()?))).collect();
    if tried.is_empty() {
        return Vec::new();
    }
    let table = ReportTable {
        caption: "Crash images of every moment, by the rule that drew them".into(),
        columns: vec![
            ReportColumn::new(ColumnKind::Name, "engine"),
            ReportColumn::new(ColumnKind::Level, "durability"),
            ReportColumn::new(ColumnKind::Level, "rule"),
            ReportColumn::new(ColumnKind::Number, "different"),
            ReportColumn::new(ColumnKind::Number, "judged"),
            ReportColumn::new(ColumnKind::Number, "lost some"),
            ReportColumn::new(ColumnKind::Main, "broken"),
            ReportColumn::new(ColumnKind::Finding, "first broken"),
        ],
        rows: tried.iter().flat_map(|(cut, every)| build_rows(cut, every)).collect(),
        ..ReportTable::default()
    };
    let mut blocks =
        vec![ReportBlock::Lead(StyledText::default().marked(EXPLAINED)), ReportBlock::Table(table)];
    blocks.extend(
        tried.iter().map(|(cut, every)| ReportBlock::Note(describe_history(cut, every).into())),
    );
    blocks
}

/// "strict", or "strict on posix".
fn name_level(cut: &Cut) -> String {
    match cut.file_system {
        FileSystem::Ext4 => cut.durability.clone(),
        FileSystem::Posix => format!("{} on posix", cut.durability),
    }
}

fn build_rows<'a>(cut: &'a Cut, every: &'a EveryMoment) -> impl Iterator<Item = ReportRow> {
    every.rules.iter().map(move |rule| {
        let EveryByRule { keep, distinct, judged, lost, broken, first } = rule;
        let [distinct, judged, lost] =
            [distinct, judged, lost].map(|count| words::format_count(*count));
        let tone = if *broken > 0 { Tone::Bad } else { Tone::Plain };
        let broken = ReportCell { tone, ..words::format_count(*broken).into() };
        let first = first.as_ref().map_or(NONE.into(), first_broken);
        let names: [ReportCell; 3] =
            [cut.engine.clone().into(), name_level(cut).into(), keep.clone().into()];
        let counts: [ReportCell; 3] = [distinct.into(), judged.into(), lost.into()];
        ReportRow::from_cells(names.into_iter().chain(counts).chain([broken, first.into()]))
    })
}

fn first_broken(first: &FirstBroken) -> String {
    let FirstBroken { moment, during, seed } = first;
    format!("moment {}, {during} (seed {seed})", words::format_count(*moment))
}

fn describe_history(cut: &Cut, every: &EveryMoment) -> String {
    let EveryMoment { writes, syncs, names, moments, drawn, distinct, judged, .. } = every;
    let counts = [
        (*writes, "write"),
        (*syncs, "sync"),
        (*names, "change of names"),
        (*moments, "moment"),
        (*drawn, "image"),
    ];
    let [writes, syncs, names, moments, drawn] = counts.map(|(count, what)| match what {
        "change of names" if count != 1 => {
            format!("{} changes of names", words::format_count(count))
        }
        what => words::count_nouns(count as usize, what),
    });
    let mut text = format!(
        "{}, {}: {writes}, {syncs} and {names} in {}, and so {moments}; {drawn} drawn, {} of them \
         different",
        cut.engine,
        name_level(cut),
        words::format_seconds(cut.ran_s),
        words::format_count(*distinct),
    );
    text += &match judged == distinct {
        true => format!("; all were judged, in {}", words::format_span(every.took_s)),
        false => format!(
            "; {} of these were judged, evenly among the moments, as the budget of {} has it, in {}",
            words::format_count(*judged),
            words::format_count(every.budget),
            words::format_span(every.took_s)
        ),
    };
    if every.unconfirmed > 0 {
        text += &format!(
            "; {} seemed broken, and a process of its own found it whole",
            words::count_nouns(every.unconfirmed as usize, "more image")
        );
    }
    text + "."
}
