//! A table in a terminal. Rows are complete at any width: names keep their width if possible, and
//! columns that don't fit follow below.

use super::TerminalWriter;
use crate::block::{ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle, Tone};

/// A heading makes no column wider than this.
pub(super) const HEADING: usize = 16;

const NAME: usize = 24;

/// Columns of figures are not made narrower: "12.3 ms to".
const FIGURE: usize = 10;

pub(super) const AROUND: usize = 2;
const EDGE: usize = 1;

struct ShownColumn<'a> {
    column: &'a ReportColumn,
    heading: &'a str,
    cells: Vec<&'a ReportCell>,
    width: usize,
}

impl<'a> ShownColumn<'a> {
    /// Headings on one line if all fit, else one line for each word.
    fn fit_columns(table: &'a ReportTable, room: usize) -> Vec<Self> {
        let whole = Self::with_widths(table, length);
        if measure_padding(&whole) <= room {
            return whole;
        }
        Self::with_widths(table, |heading| heading.split(' ').map(length).max().unwrap_or(0))
    }

    fn with_widths(table: &'a ReportTable, of_heading: impl Fn(&str) -> usize) -> Vec<Self> {
        let columns = table.columns.iter().enumerate();
        let shown = columns.filter_map(|(at, column)| {
            let heading = column.short.as_deref()?;
            let cells: Vec<&ReportCell> = table.rows.iter().map(|row| &row.cells[at]).collect();
            let lines = cells.iter().flat_map(|cell| cell.text.lines()).map(length).max();
            let lines = lines.unwrap_or(0);
            Some(Self {
                column,
                heading,
                cells,
                width: lines.max(of_heading(heading).min(HEADING)),
            })
        });
        shown.collect()
    }
}

impl TerminalWriter {
    pub fn write_table(&self, table: &ReportTable) -> String {
        let room = self.width.saturating_sub(EDGE);
        let mut shown = ShownColumn::fit_columns(table, room);
        let heads = shown.iter().take_while(|it| it.column.kind.names_the_row()).count();
        fit(&mut shown, heads, room);
        let (names, figures) = shown.split_at(heads);
        let room = room.saturating_sub(measure_padding(names));
        let each = count_portion(figures, room);
        // Without a heading, the caption names the table.
        let caption = Some(&table.caption.text).filter(|_| table.look == TableStyle::Plain);
        let caption = caption.filter(|caption| !caption.is_empty());
        let mut out = caption.map_or(String::new(), |caption| self.fill(caption) + "\n");
        // Without figures, each name still has a row.
        let portions: Vec<&[ShownColumn]> = match figures {
            [] => vec![figures],
            figures => figures.chunks(each).collect(),
        };
        let portions =
            portions.into_iter().map(|figures| self.write_portion(names, figures, &table.rows));
        out += &portions.collect::<Vec<_>>().join("\n");
        out + &table.note.as_ref().map_or(String::new(), |note| format!("{}\n", self.fill(note)))
    }

    fn write_portion(
        &self,
        names: &[ShownColumn<'_>],
        figures: &[ShownColumn<'_>],
        rows: &[ReportRow],
    ) -> String {
        let columns: Vec<&ShownColumn> = names.iter().chain(figures).collect();
        let headings: Vec<ReportCell> = columns.iter().map(|it| it.heading.into()).collect();
        let mut out = self.write_row(&columns, &headings.iter().collect::<Vec<_>>(), false);
        let width = EDGE + columns.iter().map(|it| it.width + AROUND).sum::<usize>() - 1;
        out += &format!("{}\n", "─".repeat(width.min(self.width)));
        for (at, row) in rows.iter().enumerate() {
            let cells: Vec<&ReportCell> = columns.iter().map(|it| it.cells[at]).collect();
            out += &self.write_row(&columns, &cells, row.bad);
        }
        out
    }

    /// Cells wrap; figures are right-aligned.
    fn write_row(&self, columns: &[&ShownColumn<'_>], cells: &[&ReportCell], bad: bool) -> String {
        let fold = |(cell, it): (&&ReportCell, &&ShownColumn)| fold_text(&cell.text, it.width);
        let folded: Vec<Vec<String>> = cells.iter().zip(columns).map(fold).collect();
        let height = folded.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for at in 0..height {
            let mut line = " ".repeat(EDGE);
            for ((it, cell), lines) in columns.iter().zip(cells).zip(&folded) {
                let text = lines.get(at).map_or("", String::as_str);
                let room = " ".repeat(it.width.saturating_sub(length(text)));
                let text = if bad { text.to_owned() } else { self.paint_line(cell, text) };
                line += &match it.column.kind.names_the_row() {
                    true => format!(" {text}{room} "),
                    false => format!(" {room}{text} "),
                };
            }
            let line = line.trim_end();
            let line = if bad { self.paint.with_tone(Tone::Bad, line) } else { line.into() };
            out += &format!("{line}\n");
        }
        out
    }

    fn paint_line(&self, cell: &ReportCell, line: &str) -> String {
        if line.is_empty() {
            return String::new();
        }
        let whole = self.paint.with_tone(cell.tone, line);
        let words = cell.words.iter().filter(|(word, _)| !word.is_empty());
        words.fold(whole, |line, (word, tone)| match line.strip_suffix(word.as_str()) {
            Some(before) => format!("{before}{}", self.paint.with_tone(*tone, word)),
            None => line,
        })
    }
}

/// Until the names and the widest figures fit.
fn fit(shown: &mut [ShownColumn<'_>], heads: usize, room: usize) {
    if measure_padding(shown) > room {
        shown[..heads].iter_mut().for_each(|it| it.width = it.width.min(NAME));
    }
    let (names, figures) = shown.split_at_mut(heads);
    let widest =
        |figures: &[ShownColumn]| figures.iter().map(|it| it.width + AROUND).max().unwrap_or(0);
    if measure_padding(names) + widest(figures) > room {
        let left = room.saturating_sub(measure_padding(names) + AROUND).max(FIGURE);
        figures.iter_mut().for_each(|it| it.width = it.width.min(left));
    }
    while measure_padding(names) + widest(figures) > room {
        match names.iter_mut().max_by_key(|it| it.width) {
            Some(widest) if widest.width > 1 => widest.width -= 1,
            _ => break,
        }
    }
}

fn measure_padding(columns: &[ShownColumn<'_>]) -> usize {
    columns.iter().map(|it| it.width + AROUND).sum()
}

/// As few portions as possible, of about the same size.
fn count_portion(figures: &[ShownColumn<'_>], room: usize) -> usize {
    let each = |number| figures.len().div_ceil(number);
    let fits = |each: &usize| figures.chunks(*each).all(|portion| measure_padding(portion) <= room);
    (1..=figures.len()).map(each).find(fits).unwrap_or(1)
}

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks at spaces; a longer word breaks after a sign where there is one.
pub(super) fn fold_text(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let start = lines.len();
        let mut add = |part: &str, glue: &str| match lines[start..].last_mut() {
            Some(line) if length(line) + length(glue) + length(part) <= width => {
                *line += &format!("{glue}{part}");
            }
            _ => lines.push(part.into()),
        };
        for word in line.split(' ') {
            if length(word) <= width {
                add(word, " ");
                continue;
            }
            for (number, part) in word.split_inclusive([':', '/', '-', '_', '.', '@']).enumerate() {
                let letters: Vec<char> = part.chars().collect();
                for (piece, letters) in letters.chunks(width.max(1)).enumerate() {
                    let glue = if number + piece == 0 { " " } else { "" };
                    add(&letters.iter().collect::<String>(), glue);
                }
            }
        }
    }
    lines
}
