//! Lines over a numeric factor: how levels compare, and which is fastest where.

mod cached;
mod knees;
mod limits;
mod panels;
mod shapes;
mod standing;
pub mod times;

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{FastestVerdict, PointState, RatioBound, Sweep, SweepPoint};

use crate::block::{ReportBlock, StyledText, Sweeps};
use crate::sentence::numeric_factor;

/// How many panels a first screen has.
const FIRST: usize = 6;

/// The panels of the first screen.
pub fn build_first(layout: &DocumentLayout<'_>) -> Option<Sweeps> {
    let sweep = layout.document.sweep.as_ref()?;
    let mut panels = panels::build_panels(layout, sweep);
    panels.truncate(FIRST);
    (!panels.is_empty()).then(|| Sweeps::from_panels(explain_lines(layout, sweep), panels, None))
}

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let Some(sweep) = &layout.document.sweep else { return Vec::new() };
    let mut panels = panels::build_panels(layout, sweep);
    if panels.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![ReportBlock::Heading(format!("Over {}", sweep.factor))];
    if layout.contenders().len() > 1 {
        blocks.extend(
            numeric_factor::describe_panels(layout, sweep).into_iter().map(ReportBlock::Note),
        );
    }
    blocks
        .extend(cached::describe_cached(layout, sweep).map(|note| ReportBlock::Note(note.into())));
    let standing = standing::build_table(layout, sweep);
    panels.drain(..FIRST.min(panels.len()));
    let explained =
        if panels.is_empty() { StyledText::default() } else { explain_lines(layout, sweep) };
    if !panels.is_empty() || standing.is_some() {
        blocks.push(ReportBlock::Sweeps(Sweeps::from_panels(explained, panels, standing)));
    }
    blocks.extend(knees::build_table(layout, sweep).map(ReportBlock::Table));
    blocks
}

/// Explains only what occurs in the lines.
fn explain_lines(layout: &DocumentLayout<'_>, sweep: &Sweep) -> StyledText {
    let series = || sweep.panels.iter().flat_map(|panel| &panel.series);
    let point =
        |wanted: &dyn Fn(&SweepPoint) -> bool| series().flat_map(|it| &it.points).any(wanted);
    let told =
        |wanted| sweep.panels.iter().flat_map(|panel| &panel.fastest).any(|it| it.told == wanted);
    let mut text =
        "Each line: the typical (geometric) mean of the trials, on scales of equal factors; \
                    a bar, where it is longer than the mark: where it lies, 19 times in 20, by its own trials \
                    alone."
            .to_owned();
    if layout.contenders().len() > 1 {
        text += " A verdict goes by pairs of trials of the same block, and not by the bars.";
    }
    let aside = point(&|it| it.state == PointState::SetAside);
    for (occurs, words) in [
        (told(FastestVerdict::TooClose), " ≈: undecided."),
        (
            told(FastestVerdict::Unknown),
            " ?: it can’t be told, since a cell is set aside, has too few operations or is too \
             uneven.",
        ),
        (aside, " Pale and crossed, or ×: set aside."),
        (point(&|it| it.state == PointState::NotRun), " A dash at the foot: not run."),
        (point(&|it| it.value_is == Some(RatioBound::AtLeast)), " An arrow up: at least."),
        (point(&|it| it.value_is == Some(RatioBound::AtMost)), " An arrow down: at most."),
        (
            point(&|it| it.limit.is_some()),
            " Dashed: the modelled device alone, with as many of these requests in flight: no page cache, no file \
             system and no sync is between them.",
        ),
        (
            shapes::has_published(layout, sweep),
            " A hollow mark: the ratio that was published, times our own figure of its base.",
        ),
        (
            panels::has_slopes(layout, sweep),
            " Along a faint slanted line more clients add nothing.",
        ),
    ] {
        text += if occurs { words } else { "" };
    }
    text.into()
}
