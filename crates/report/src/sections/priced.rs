//! The price of a commit by the disk's model, computed from traced requests.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{CellView, PriceRatio, PricedView};

use crate::block::{ColumnKind, ReportBlock};
use crate::cell_tables::{self, ColumnHead};
use crate::figures::{self, NONE};
use crate::words;

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

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let views = || layout.document.cells.iter().filter_map(|cell| cell.priced);
    let cells = |_: &str, cell: &CellView| cell.priced.map(|it| format_cells(&it));
    let table = cell_tables::build_table(layout, "Priced", &COLUMNS, |_, _| Vec::new(), cells);
    let Some(mut table) = table else { return Vec::new() };
    if views().any(|it| it.is_apart() == Some(true)) {
        let note = "Where priced ÷ watched is beyond 0.80 to 1.25, price and window disagree: don’t rest \
                    anything on that price before you know why.";
        table.note = Some(note.into());
    }
    vec![ReportBlock::Lead(EXPLAINED.into()), ReportBlock::Table(table)]
}

fn format_cells(it: &PricedView) -> [String; COLUMNS.len()] {
    let share = |part: f64| match it.time_s > 0.0 {
        true => format!("{:.0} %", 100.0 * part / it.time_s),
        false => NONE.into(),
    };
    let most = match (it.rate, it.rate_most) {
        (Some(rate), Some(most)) => {
            format!("{} to {}", words::format_digits(rate), words::format_digits(most))
        }
        (rate, _) => figures::format_optional(rate, words::format_digits),
    };
    [
        words::format_seconds(it.time_s),
        it.ratio.as_ref().map_or(NONE.into(), format_ratio),
        share(it.put_off_s),
        share(it.reads_s),
        most,
        figures::format_optional(it.watched_rate, words::format_digits),
        figures::format_optional(it.watched_s, words::format_seconds),
        figures::format_optional(it.over_watched(), |ratio| format!("{ratio:.2}")),
        figures::format_optional(it.turns, |turns| format!("{turns:.1}")),
    ]
}

fn format_ratio(it: &PriceRatio) -> String {
    match (it.low, it.high) {
        (Some(low), Some(high)) => format!("{:.2} ({low:.2} to {high:.2})", it.ratio),
        _ => format!("{:.2}", it.ratio),
    }
}
