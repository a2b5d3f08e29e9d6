//! Strips in a terminal: signs and figures, and a table below.

use super::TerminalWriter;
use super::table::fold_text;
use crate::block::{LegendKey, StripGroup, StripHead, StripRow, Strips};

const NAME: usize = 34;
const NARROW: usize = 12;
const WIDE: usize = 64;

impl TerminalWriter {
    /// The legend, then each group's charts and table, then notes.
    pub fn write_strips(&self, of: &Strips) -> String {
        let line = |text: &String| self.fill(text) + "\n";
        let legend = of.legend.iter().filter_map(|key| self.write_key(key));
        let legend: String = legend.chain(of.terms.iter().map(line)).collect();
        let legend = if legend.is_empty() { legend } else { format!("\n{legend}") };
        let groups = of.groups.iter().map(|group| self.write_group(of, group));
        let notes = of.notes.iter().map(line);
        std::iter::once(legend).chain(groups).chain(notes).collect()
    }

    fn write_key(&self, key: &LegendKey) -> Option<String> {
        let (sign, ascii) = key.signs?;
        let sign = if self.unicode { sign } else { ascii };
        Some(self.fill(&format!("{sign} {}", key.text)) + "\n")
    }

    fn write_group(&self, of: &Strips, group: &StripGroup) -> String {
        let tool = Some(&group.tool).filter(|tool| !tool.is_empty());
        let tool = tool.map_or(String::new(), |tool| format!(" ({tool})"));
        let title = self.write_heading(&format!("{}{tool}", group.title));
        let charts =
            of.heads.iter().enumerate().map(|(at, head)| self.write_chart(head, at, group));
        let charts: String = charts.collect();
        let table = of.table(group, false);
        let table = if table.has_figures() { self.write_table(&table) } else { String::new() };
        format!("\n{title}{charts}{table}")
    }

    pub(super) fn write_chart(&self, head: &StripHead, at: usize, group: &StripGroup) -> String {
        let label = |row: &StripRow| row.strips[at].drawn.label.clone();
        let figure = group.rows.iter().map(|row| label(row).chars().count()).max().unwrap_or(0);
        let room = self.width.saturating_sub(figure + NARROW + 4).max(8);
        let names = group.rows.iter().map(|row| fold_text(&row.name.text, NAME.min(room)));
        let names: Vec<Vec<String>> = names.collect();
        let name = names.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
        let plot = self.width.saturating_sub(name + figure + 4).clamp(1, WIDE);
        let mut out = self.write_head(head);
        for (row, names) in group.rows.iter().zip(&names) {
            let signs = match plot >= NARROW {
                true => row.strips[at].drawn.signs(plot, self.unicode),
                false => String::new(),
            };
            let named = names.first().map_or("", String::as_str);
            let line = format!(" {named:<name$} {signs:<plot$} {}", label(row));
            out += &format!("{}\n", self.cut_line(&line));
            out.extend(names.iter().skip(1).map(|more| format!(" {more}\n")));
        }
        out
    }

    /// The operation, its unit, and which side is better.
    pub(super) fn write_head(&self, head: &StripHead) -> String {
        format!("{}\n", self.fill(&format!("{}: {}", head.name, head.unit)))
    }

    /// A figure without room goes to the next line.
    fn cut_line(&self, line: &str) -> String {
        let line = line.trim_end();
        if line.chars().count() <= self.width { line.to_owned() } else { self.fill(line) }
    }
}
