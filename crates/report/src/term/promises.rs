//! The table of promises in a terminal. Every promise has its row at any width: names keep their
//! whole width where it can be had, and rules that don't fit beside each other follow below.

use comfy_table::{CellAlignment, Table};

use super::{Paint, style};
use crate::durability::{Durability, Row};

/// The columns that every portion of the table starts with.
const HEADS: usize = 3;

/// The widest that a column of figures is where there is little room: "12.3 ms to".
const FIGURE: usize = 10;

/// What a table puts around each of its columns, and at its edge.
const AROUND: usize = 3;
const EDGE: usize = 1;

/// A row of cells, each broken into lines.
type Lines = Vec<String>;

/// The table as lines that end in a break, broken promises in red.
pub fn table(durability: &Durability, width: usize, paint: &Paint) -> String {
    let heads = ["engine", "durability", "promise"].map(str::to_owned).into_iter();
    let rules = durability.rules.iter().cloned();
    let header = heads.chain(rules).chain(durability.operation.clone()).collect();
    let mut rows: Vec<Lines> = vec![header];
    rows.extend(durability.rows.iter().map(|row| cells(row, durability.operation.is_some())));

    let widths = widths(&rows, width.saturating_sub(EDGE));
    for row in &mut rows {
        let fold = |(cell, width): (&mut String, &usize)| *cell = folded(cell, *width);
        row.iter_mut().zip(&widths).for_each(fold);
    }
    let room = width.saturating_sub(EDGE + around(&widths[..HEADS]));
    let each = portion(&widths[HEADS..], room);
    // Where nothing could be tried there is no rule, and still a row for each promise.
    let starts = (HEADS..widths.len().max(HEADS + 1)).step_by(each);
    let tables = starts.map(|from| {
        let to = (from + each).min(widths.len());
        let part = |row: &Lines| [&row[..HEADS], &row[from..to]].concat();
        let rows: Vec<Lines> = rows.iter().map(part).collect();
        painted(&rows, &durability.rows, paint)
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// The cells of a promise.
fn cells(row: &Row, with_cost: bool) -> Lines {
    let heads = [row.name(), row.durability.clone(), row.state.to_owned()].into_iter();
    let rules = row.rules.iter().map(|rule| rule.short.clone());
    heads.chain(rules).chain(with_cost.then(|| row.cost.clone())).collect()
}

/// How wide each column is, so that the first ones and the widest of the others have room.
fn widths(rows: &[Lines], room: usize) -> Vec<usize> {
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let mut widths: Vec<usize> = (0..rows[0].len()).filter_map(widest).collect();
    let (heads, figures) = widths.split_at_mut(HEADS);
    let widest = |figures: &[usize]| figures.iter().max().map_or(0, |width| width + AROUND);
    if around(heads) + widest(figures) > room {
        figures.iter_mut().for_each(|width| *width = (*width).min(FIGURE));
    }
    while around(heads) + widest(figures) > room {
        match heads.iter_mut().max() {
            Some(widest) if *widest > 1 => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// What columns take beside each other.
fn around(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + AROUND).sum()
}

/// How many columns there are to a portion: as few portions as can be, of about the same number.
fn portion(widths: &[usize], room: usize) -> usize {
    let each = |number| widths.len().div_ceil(number);
    let fits = |each: &usize| widths.chunks(*each).all(|portion| around(portion) <= room);
    (1..=widths.len()).map(each).find(fits).unwrap_or(1)
}

/// A table of cells that need no more breaking; the first row is the header.
fn painted(cells: &[Lines], rows: &[Row], paint: &Paint) -> String {
    let mut table = Table::new();
    table.load_style(style());
    table.set_header(cells[0].clone());
    table.add_rows(cells[1..].to_vec());
    for column in table.column_iter_mut().skip(HEADS) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let height = |row: &Lines| row.iter().map(|cell| cell.lines().count()).max().unwrap_or(1);
    let mut lines = table.lines();
    let mut out = String::new();
    // The header has a rule under it.
    for line in lines.by_ref().take(height(&cells[0]) + 1) {
        out += &format!("{}\n", line.trim_end());
    }
    for (cells, row) in cells[1..].iter().zip(rows) {
        for line in lines.by_ref().take(height(cells)) {
            let line = line.trim_end();
            let broken = row.state == "broken";
            out += &format!("{}\n", if broken { paint.red(line) } else { line.to_owned() });
        }
    }
    out
}

/// A text in lines of at most so many characters, broken at spaces; a word that is longer than a
/// line is broken after a sign where there is one.
fn folded(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |part: &str, glue: &str| {
        let length = |text: &str| text.chars().count();
        match lines.last_mut() {
            Some(line) if length(line) + length(glue) + length(part) <= width => {
                *line += &format!("{glue}{part}");
            }
            _ => lines.push(part.into()),
        }
    };
    for word in text.split(' ') {
        if word.chars().count() <= width {
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
    lines.join("\n")
}
