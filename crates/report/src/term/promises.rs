//! The table of promises in a terminal. Every promise has its row at any width: names keep their
//! whole width where it can be had, and rules that don't fit beside each other follow below.

use comfy_table::{CellAlignment, Table};

use super::{Paint, style};
use crate::durability::{Durability, Row};

/// The columns that every portion of the table starts with.
const HEADS: usize = 3;

/// The widest that a column of figures is: "12.3 ms to".
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
    let heads: usize = widths[..HEADS].iter().map(|width| width + AROUND).sum();
    let room = width.saturating_sub(EDGE + heads);
    let portions = portions(&widths[HEADS..], room);
    let tables = portions.map(|(from, to)| {
        let part = |row: &Lines| [&row[..HEADS], &row[HEADS + from..HEADS + to]].concat();
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
    figures.iter_mut().for_each(|width| *width = (*width).min(FIGURE));
    let figure = figures.iter().max().map_or(0, |width| width + AROUND);
    while heads.iter().map(|width| width + AROUND).sum::<usize>() + figure > room {
        match heads.iter_mut().max() {
            Some(widest) if *widest > 1 => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// The columns in portions of about the same number that fit beside each other.
fn portions(widths: &[usize], room: usize) -> impl Iterator<Item = (usize, usize)> {
    let widest = widths.iter().max().map_or(1, |width| width + AROUND);
    let number = widths.len().div_ceil((room / widest).max(1)).max(1);
    let (all, each) = (widths.len(), widths.len().div_ceil(number));
    (0..number).map(move |n| ((n * each).min(all), ((n + 1) * each).min(all)))
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

/// A text in lines of at most so many characters, broken after a space or a sign where there is
/// one.
fn folded(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive([' ', ':', '/', '-', '_', '.', '@']) {
        let mut part = part;
        while !part.is_empty() {
            let line = lines.last_mut().expect("there is always a line");
            let left = width - line.chars().count().min(width);
            if part.trim_end().chars().count() <= left {
                line.push_str(part);
                break;
            }
            if line.is_empty() {
                let end = part.char_indices().nth(left.max(1)).map_or(part.len(), |(at, _)| at);
                line.push_str(&part[..end]);
                part = &part[end..];
            }
            lines.push(String::new());
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n").trim_end().to_owned()
}
