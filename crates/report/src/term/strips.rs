//! Strips in a terminal: marks in signs, with their figures, and below them how the rows stand.

use super::TerminalWriter;
use super::table::folded;
use crate::block::{LegendKey, StripGroup, StripHead, StripRow, Strips};

/// The widest that a name is; a longer one has several lines.
const NAME: usize = 34;
/// The narrowest and the widest that an axis is.
const NARROW: usize = 12;
const WIDE: usize = 64;

impl TerminalWriter {
    /// What the marks and words are. Then each group: a chart for each of its heads, and a table of what stands
    /// behind them. Then what else has to be known.
    pub fn strips(&self, of: &Strips) -> String {
        let line = |text: &String| self.fill(text) + "\n";
        let legend = of.legend.iter().filter_map(|key| self.key(key));
        let legend: String = legend.chain(of.terms.iter().map(line)).collect();
        let legend = if legend.is_empty() { legend } else { format!("\n{legend}") };
        let groups = of.groups.iter().map(|group| self.group(of, group));
        let notes = of.notes.iter().map(line);
        std::iter::once(legend).chain(groups).chain(notes).collect()
    }

    /// A mark and what it stands for; `None` where it is not drawn here.
    fn key(&self, key: &LegendKey) -> Option<String> {
        let (sign, ascii) = key.signs?;
        let sign = if self.unicode { sign } else { ascii };
        Some(self.fill(&format!("{sign} {}", key.text)) + "\n")
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
        let figure = group.rows.iter().map(|row| label(row).chars().count()).max().unwrap_or(0);
        let room = self.width.saturating_sub(figure + NARROW + 4).max(8);
        let names = group.rows.iter().map(|row| folded(&row.name.text, NAME.min(room)));
        let names: Vec<Vec<String>> = names.collect();
        let name = names.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
        let plot = self.width.saturating_sub(name + figure + 4).clamp(1, WIDE);
        let mut out = format!("{}\n", self.fill(&format!("{}: {}", head.name, head.unit)));
        for (row, names) in group.rows.iter().zip(&names) {
            let signs = match plot >= NARROW {
                true => row.strips[at].drawn.signs(plot, self.unicode),
                false => String::new(),
            };
            let named = names.first().map_or("", String::as_str);
            let line = format!(" {named:<name$} {signs:<plot$} {}", label(row));
            out += &format!("{}\n", self.cut(&line));
            // The rest of a name that has no room on one line.
            out.extend(names.iter().skip(1).map(|more| format!(" {more}\n")));
        }
        out
    }

    /// A line that is no wider than the terminal: a figure that has no room is on the next one.
    fn cut(&self, line: &str) -> String {
        let line = line.trim_end();
        if line.chars().count() <= self.width { line.to_owned() } else { self.fill(line) }
    }
}
