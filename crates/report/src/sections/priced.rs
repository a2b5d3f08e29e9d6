//! What a commit costs by the model of the disk, priced from traced requests.

use bakeoff_analysis::{CellView, PriceRatio, PricedView};

use crate::block::{ColumnKind, ReportBlock};
use crate::cell_rows::{self, ColumnHead};
use crate::figures::{self, NONE};
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::words;

/// Prices, with what was watched beside them.
pub struct Priced;

/// What the figures mean, for a reader.
const EXPLAINED: &str = "Priced, not watched: before the clients of a steady trial started, and while the \
                         disk took no time, what each engine asked of it was traced over whole cycles of its \
                         deferred work, and then given to the model of the disk. Device time a commit: all of it, \
                         one request of the engine after the other, on a disk that it has to itself; of \
                         that the reads, and what no commit waits for (checkpoints, flushes, compactions, \
                         what the system writes back). At most: commits a second that the disk can serve \
                         beside the background I/O, one request of the engine after the other, and with up to \
                         31 beside each of the log. Left out: the engine’s own time, and whatever it does \
                         by the clock rather than by the work.";

const COLUMNS: [ColumnHead; 9] = [
    ("priced: device time a commit", Some("time a commit"), ColumnKind::Main),
    ("against the baseline", Some("ratio"), ColumnKind::LongNumber),
    ("of it put off", Some("put off"), ColumnKind::Number),
    ("of it reads", Some("reads"), ColumnKind::Number),
    ("priced: commits a second at most", Some("at most/s"), ColumnKind::LongNumber),
    ("watched: commits a second", Some("watched/s"), ColumnKind::Number),
    ("watched: device time a commit", Some("watched"), ColumnKind::Number),
    ("priced ÷ watched", Some("÷ watched"), ColumnKind::Number),
    ("cycles of deferred work traced", None, ColumnKind::Number),
];

impl Section for Priced {
    fn name(&self) -> &str {
        "priced"
    }

    fn title(&self) -> &str {
        "What a commit costs the disk: priced"
    }

    fn link(&self) -> &str {
        "Priced commits"
    }

    /// A row for each cell that was priced.
    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let views = || layout.document.cells.iter().filter_map(|cell| cell.priced);
        let cells = |_: &str, cell: &CellView| cell.priced.map(|it| cells(&it));
        let table = cell_rows::table(layout, "Priced", &COLUMNS, |_, _| Vec::new(), cells);
        let Some(mut table) = table else { return Vec::new() };
        if views().any(|it| it.is_apart() == Some(true)) {
            let note = "Where priced ÷ watched is beyond 0.80 to 1.25, price and window disagree: don’t rest \
                        anything on that price before you know why.";
            table.note = Some(note.into());
        }
        vec![ReportBlock::Lead(EXPLAINED.into()), ReportBlock::Table(table)]
    }
}

/// A text for each of [`COLUMNS`].
fn cells(it: &PricedView) -> [String; COLUMNS.len()] {
    let share = |part: f64| match it.time_s > 0.0 {
        true => format!("{:.0} %", 100.0 * part / it.time_s),
        false => NONE.into(),
    };
    let most = match (it.rate, it.rate_most) {
        (Some(rate), Some(most)) => format!("{} to {}", words::digits(rate), words::digits(most)),
        (rate, _) => figures::text(rate, words::digits),
    };
    [
        words::seconds(it.time_s),
        it.ratio.as_ref().map_or(NONE.into(), ratio),
        share(it.put_off_s),
        share(it.reads_s),
        most,
        figures::text(it.watched_rate, words::digits),
        figures::text(it.watched_s, words::seconds),
        figures::text(it.over_watched(), |ratio| format!("{ratio:.2}")),
        figures::text(it.turns, |turns| format!("{turns:.1}")),
    ]
}

fn ratio(it: &PriceRatio) -> String {
    match (it.low, it.high) {
        (Some(low), Some(high)) => format!("{:.2} ({low:.2} to {high:.2})", it.ratio),
        _ => format!("{:.2}", it.ratio),
    }
}
