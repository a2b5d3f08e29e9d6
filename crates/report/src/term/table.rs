//! A table in a terminal. Every row is there at any width: what names a row keeps its whole width where
//! it can be had, and columns that don't fit beside each other follow below.

use super::TerminalWriter;
use crate::block::{ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle, Tone};

/// The widest that a heading makes a column whose figures are narrower.
const HEADING: usize = 16;

/// The widest that a name is where not all columns have room beside each other.
const NAME: usize = 24;

/// A column of figures is not made narrower than this for the names beside it: "12.3 ms to".
const FIGURE: usize = 10;

/// What a table puts around each of its columns, and at its edge.
const AROUND: usize = 2;
const EDGE: usize = 1;

/// A column that is shown.
struct ShownColumn<'a> {
    column: &'a ReportColumn,
    heading: &'a str,
    /// Its cells, from the first row to the last.
    cells: Vec<&'a ReportCell>,
    width: usize,
}

impl<'a> ShownColumn<'a> {
    /// The columns with their headings on one line where all have room then, and else in as many as
    /// they have words.
    fn fit_columns(table: &'a ReportTable, room: usize) -> Vec<Self> {
        let whole = Self::with(table, length);
        if around(&whole) <= room {
            return whole;
        }
        Self::with(table, |heading| heading.split(' ').map(length).max().unwrap_or(0))
    }

    fn with(table: &'a ReportTable, of_heading: impl Fn(&str) -> usize) -> Vec<Self> {
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
    /// The table as lines that end in a break.
    pub fn table(&self, table: &ReportTable) -> String {
        let room = self.width.saturating_sub(EDGE);
        let mut shown = ShownColumn::fit_columns(table, room);
        let heads = shown.iter().take_while(|it| it.column.kind.names_the_row()).count();
        fit(&mut shown, heads, room);
        let (names, figures) = shown.split_at(heads);
        let room = room.saturating_sub(around(names));
        let each = portion(figures, room);
        // What is not under a heading of its own says what it is.
        let caption = Some(&table.caption.text).filter(|_| table.look == TableStyle::Plain);
        let caption = caption.filter(|caption| !caption.is_empty());
        let mut out = caption.map_or(String::new(), |caption| self.fill(caption) + "\n");
        // Where there is no figure, there is still a row for each name.
        let portions: Vec<&[ShownColumn]> = match figures {
            [] => vec![figures],
            figures => figures.chunks(each).collect(),
        };
        let portions =
            portions.into_iter().map(|figures| self.portion(names, figures, &table.rows));
        out += &portions.collect::<Vec<_>>().join("\n");
        out + &table.note.as_ref().map_or(String::new(), |note| format!("{}\n", self.fill(note)))
    }

    /// The columns that fit beside each other.
    fn portion(
        &self,
        names: &[ShownColumn<'_>],
        figures: &[ShownColumn<'_>],
        rows: &[ReportRow],
    ) -> String {
        let columns: Vec<&ShownColumn> = names.iter().chain(figures).collect();
        let headings: Vec<ReportCell> = columns.iter().map(|it| it.heading.into()).collect();
        let mut out = self.row(&columns, &headings.iter().collect::<Vec<_>>(), false);
        let width = EDGE + columns.iter().map(|it| it.width + AROUND).sum::<usize>() - 1;
        out += &format!("{}\n", "─".repeat(width.min(self.width)));
        for (at, row) in rows.iter().enumerate() {
            let cells: Vec<&ReportCell> = columns.iter().map(|it| it.cells[at]).collect();
            out += &self.row(&columns, &cells, row.bad);
        }
        out
    }

    /// A row, its cells broken into lines; figures stand at the right of their columns.
    fn row(&self, columns: &[&ShownColumn<'_>], cells: &[&ReportCell], bad: bool) -> String {
        let fold = |(cell, it): (&&ReportCell, &&ShownColumn)| folded(&cell.text, it.width);
        let folded: Vec<Vec<String>> = cells.iter().zip(columns).map(fold).collect();
        let height = folded.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for at in 0..height {
            let mut line = " ".repeat(EDGE);
            for ((it, cell), lines) in columns.iter().zip(cells).zip(&folded) {
                let text = lines.get(at).map_or("", String::as_str);
                let room = " ".repeat(it.width.saturating_sub(length(text)));
                let text = if bad { text.to_owned() } else { self.toned(cell, text) };
                line += &match it.column.kind.names_the_row() {
                    true => format!(" {text}{room} "),
                    false => format!(" {room}{text} "),
                };
            }
            let line = line.trim_end();
            let line = if bad { self.paint.tone(Tone::Bad, line) } else { line.into() };
            out += &format!("{line}\n");
        }
        out
    }

    /// A line of a cell in its colours.
    fn toned(&self, cell: &ReportCell, line: &str) -> String {
        if line.is_empty() {
            return String::new();
        }
        let whole = self.paint.tone(cell.tone, line);
        let words = cell.words.iter().filter(|(word, _)| !word.is_empty());
        words.fold(whole, |line, (word, tone)| match line.strip_suffix(word.as_str()) {
            Some(before) => format!("{before}{}", self.paint.tone(*tone, word)),
            None => line,
        })
    }
}

/// Makes columns narrower until the names and the widest of the figures have room.
fn fit(shown: &mut [ShownColumn<'_>], heads: usize, room: usize) {
    if around(shown) > room {
        shown[..heads].iter_mut().for_each(|it| it.width = it.width.min(NAME));
    }
    let (names, figures) = shown.split_at_mut(heads);
    let widest =
        |figures: &[ShownColumn]| figures.iter().map(|it| it.width + AROUND).max().unwrap_or(0);
    if around(names) + widest(figures) > room {
        let left = room.saturating_sub(around(names) + AROUND).max(FIGURE);
        figures.iter_mut().for_each(|it| it.width = it.width.min(left));
    }
    while around(names) + widest(figures) > room {
        match names.iter_mut().max_by_key(|it| it.width) {
            Some(widest) if widest.width > 1 => widest.width -= 1,
            _ => break,
        }
    }
}

/// What columns take beside each other.
fn around(columns: &[ShownColumn<'_>]) -> usize {
    columns.iter().map(|it| it.width + AROUND).sum()
}

/// How many columns there are to a portion: as few portions as can be, of about the same number.
fn portion(figures: &[ShownColumn<'_>], room: usize) -> usize {
    let each = |number| figures.len().div_ceil(number);
    let fits = |each: &usize| figures.chunks(*each).all(|portion| around(portion) <= room);
    (1..=figures.len()).map(each).find(fits).unwrap_or(1)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A text in lines of at most so many characters, broken at spaces; a word that is longer than a
/// line is broken after a sign where there is one.
pub(super) fn folded(text: &str, width: usize) -> Vec<String> {
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
