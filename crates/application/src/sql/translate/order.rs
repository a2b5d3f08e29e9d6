//! Nulls in ORDER BY: they come first, and last in the reverse order.

use bakeoff_engines::sql::Dialect;

use super::Translator;
use crate::sql::differences::OR_VARIANTS;

/// Words that end an ORDER BY.
const ENDS: [&str; 13] = [
    "LIMIT",
    "OFFSET",
    "FETCH",
    "FOR",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "ROWS",
    "RANGE",
    "GROUPS",
    "RETURNING",
    "WINDOW",
    "SEPARATOR",
];

impl Translator<'_, '_> {
    pub(super) fn edit_orders(&mut self) {
        for at in 0..self.list.len() {
            if self.list.is_word(at, "ORDER") && self.list.is_word(at + 1, "BY") {
                let (from, depth) = (at + 2, self.list.depth(at));
                let end = (from..self.list.len()).find(|at| {
                    self.list.depth(*at) < depth
                        || self.list.depth(*at) == depth && self.list.is_any_word(*at, &ENDS)
                });
                for (from, to) in self.list.split_commas(from, end.unwrap_or(self.list.len())) {
                    self.edit_order_item(from, to);
                }
            }
        }
    }

    fn edit_order_item(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let nulls = (from..to).find(|at| self.list.is_word(*at, "NULLS"));
        let end = nulls.unwrap_or(to);
        let reverse = end > from && self.list.is_word(end - 1, "DESC");
        let Some(nulls) = nulls else { return self.add_nulls(from, to, reverse) };
        let usual = match reverse {
            false => self.list.is_word(nulls + 1, "FIRST"),
            true => self.list.is_word(nulls + 1, "LAST"),
        };
        if self.dialect != Dialect::MySql {
            return;
        }
        match usual {
            true => self.drop_tokens(nulls, (nulls + 2).min(to)),
            false => self.fail(
                nulls,
                format!(
                    "MySQL has nulls first, and last with DESC: leave out NULLS, {OR_VARIANTS}"
                ),
            ),
        }
    }

    /// PostgreSQL does the opposite unless it is told. A column without nulls needs no word, and
    /// keeps its index.
    fn add_nulls(&mut self, from: usize, to: usize, reverse: bool) {
        let sorted = reverse || self.list.is_word(to - 1, "ASC");
        let last = if sorted { to - 2 } else { to - 1 };
        let name = matches!((last + 1).checked_sub(from), Some(1 | 3));
        let found = self.uses.find_column(self.list, last).filter(|_| name);
        let outer =
            (0..self.list.len()).any(|at| self.list.is_any_word(at, &["LEFT", "RIGHT", "FULL"]));
        let never_null = found.is_some_and(|found| !self.uses.column(found).nullable) && !outer;
        if self.dialect == Dialect::Postgres && !never_null {
            self.after[to - 1] += if reverse { " NULLS LAST" } else { " NULLS FIRST" };
        }
    }
}
