//! Images of every moment of one run: how many there were, how many differ, and what was found.

use bakeoff_results::{Cut, EveryByRule, EveryMoment, FileSystem, FirstBroken};

use crate::block::{
    ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, StyledText, Tone,
};
use crate::figures::NONE;
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::words;

/// Images of every moment.
pub struct Every;

/// How the table is read.
const EXPLAINED: &str = "Of one short run of the clients, the disk remembered every change. A *moment* \
     lies before and after each write, inside each sync, and between all else that changes what is \
     durable. *Drawn*: what a cut at each of them may leave, by the rule, from several seeds. \
     *Different*: those of these that are not alike; each is opened, checked and audited once, and held \
     against all that was acknowledged by the latest moment that has it. An image that two rules drew \
     counts for both.";

impl Section for Every {
    fn name(&self) -> &str {
        "every-moment"
    }

    fn title(&self) -> &str {
        "What a cut at every moment leaves"
    }

    fn link(&self) -> &str {
        "Cuts at every moment"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
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
            rows: tried.iter().flat_map(|(cut, every)| rows(cut, every)).collect(),
            ..ReportTable::default()
        };
        let mut blocks = vec![
            ReportBlock::Lead(StyledText::default().marked(EXPLAINED)),
            ReportBlock::Table(table),
        ];
        blocks.extend(tried.iter().map(|(cut, every)| ReportBlock::Note(said(cut, every).into())));
        blocks
    }
}

/// "strict", or "strict on posix".
fn level(cut: &Cut) -> String {
    match cut.file_system {
        FileSystem::Ext4 => cut.durability.clone(),
        FileSystem::Posix => format!("{} on posix", cut.durability),
    }
}

fn rows<'a>(cut: &'a Cut, every: &'a EveryMoment) -> impl Iterator<Item = ReportRow> {
    every.rules.iter().map(move |rule| {
        let EveryByRule { keep, distinct, judged, lost, broken, first } = rule;
        let [distinct, judged, lost] = [distinct, judged, lost].map(|count| words::count(*count));
        let tone = if *broken > 0 { Tone::Bad } else { Tone::Plain };
        let broken = ReportCell { tone, ..words::count(*broken).into() };
        let first = first.as_ref().map_or(NONE.into(), first_broken);
        let names: [ReportCell; 3] =
            [cut.engine.clone().into(), level(cut).into(), keep.clone().into()];
        let counts: [ReportCell; 3] = [distinct.into(), judged.into(), lost.into()];
        ReportRow::from_cells(names.into_iter().chain(counts).chain([broken, first.into()]))
    })
}

fn first_broken(first: &FirstBroken) -> String {
    let FirstBroken { moment, during, seed } = first;
    format!("moment {}, {during} (seed {seed})", words::count(*moment))
}

/// What the history was, and how much of it was tried.
fn said(cut: &Cut, every: &EveryMoment) -> String {
    let EveryMoment { writes, syncs, names, moments, drawn, distinct, judged, .. } = every;
    let counts = [
        (*writes, "write"),
        (*syncs, "sync"),
        (*names, "change of names"),
        (*moments, "moment"),
        (*drawn, "image"),
    ];
    let [writes, syncs, names, moments, drawn] = counts.map(|(count, what)| match what {
        "change of names" if count != 1 => format!("{} changes of names", words::count(count)),
        what => words::many(count as usize, what),
    });
    let mut text = format!(
        "{}, {}: {writes}, {syncs} and {names} in {}, and so {moments}; {drawn} drawn, {} of them \
         different",
        cut.engine,
        level(cut),
        words::seconds(cut.ran_s),
        words::count(*distinct),
    );
    text += &match judged == distinct {
        true => format!("; all were judged, in {}", words::span(every.took_s)),
        false => format!(
            "; {} of these were judged, evenly among the moments, as the budget of {} has it, in {}",
            words::count(*judged),
            words::count(every.budget),
            words::span(every.took_s)
        ),
    };
    if every.unconfirmed > 0 {
        text += &format!(
            "; {} seemed broken, and a process of its own found it whole",
            words::many(every.unconfirmed as usize, "more image")
        );
    }
    text + "."
}
