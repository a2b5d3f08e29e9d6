//! Strips in a terminal: marks in signs, with their figures, and below them how the rows stand.

use super::Lines;
use crate::block::{StripGroup, StripHead, StripRow, Strips};
use crate::chart::shortened;

/// The widest that a name is.
const NAME: usize = 34;
/// The narrowest and the widest that an axis is.
const NARROW: usize = 12;
const WIDE: usize = 64;

impl Lines {
    /// Each group: a chart for each of its heads, and a table of what stands behind them.
    pub fn strips(&self, of: &Strips) -> String {
        let groups = of.groups.iter().map(|group| self.group(of, group));
        let notes = of.notes.iter().map(|note| self.fill(note) + "\n");
        groups.chain(notes).collect()
    }

    fn group(&self, of: &Strips, group: &StripGroup) -> String {
        let tool = Some(&group.tool).filter(|tool| !tool.is_empty());
        let tool = tool.map_or(String::new(), |tool| format!(" ({tool})"));
        let title = self.heading(&format!("{}{tool}", group.title));
        let charts = of.heads.iter().enumerate().map(|(at, head)| self.chart(head, at, group));
        let charts: String = charts.collect();
        let table = of.table(group, false);
        let table = if table.has_figures() { self.table(&table) } else { String::new() };
        format!("\n{title}{charts}{table}")
    }

    /// A line for each row: its name, its mark on the axis, and its figure.
    fn chart(&self, head: &StripHead, at: usize, group: &StripGroup) -> String {
        let label = |row: &StripRow| row.strips[at].drawn.label.clone();
        let widest = |of: &dyn Fn(&StripRow) -> usize| group.rows.iter().map(of).max().unwrap_or(0);
        let figure = widest(&|row| label(row).chars().count());
        let room = self.width.saturating_sub(figure + NARROW + 4).max(8);
        let name = widest(&|row| row.name.text.chars().count()).min(NAME).min(room);
        let plot = self.width.saturating_sub(name + figure + 4).clamp(1, WIDE);
        let mut out = format!("{}\n", self.fill(&format!("{}: {}", head.name, head.unit)));
        for row in &group.rows {
            let signs = match plot >= NARROW {
                true => row.strips[at].drawn.signs(plot, self.unicode),
                false => String::new(),
            };
            let named = shortened(&row.name.text, name.max(2));
            let line = format!(" {named:<name$} {signs:<plot$} {}", label(row));
            out += &format!("{}\n", self.cut(&line));
        }
        out
    }

    /// A line that is no wider than the terminal: a figure that has no room is on the next one.
    fn cut(&self, line: &str) -> String {
        let line = line.trim_end();
        if line.chars().count() <= self.width { line.to_owned() } else { self.fill(line) }
    }
}
