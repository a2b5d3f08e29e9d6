//! `ON CONFLICT` and `ON DUPLICATE KEY UPDATE`.

use bakeoff_engines::schema::Table;
use bakeoff_engines::sql::Dialect;

use super::{TokenEdit, Translator};
use crate::sql::differences::OR_VARIANTS;
use crate::sql::schema_file::find_column;

impl Translator<'_, '_> {
    pub(super) fn edit_upsert(&mut self) {
        let Some(table) = self.find_inserted() else { return };
        let on =
            |at: &usize, word| self.list.is_word(*at, "ON") && self.list.is_word(*at + 1, word);
        if let Some(at) = (0..self.list.len()).find(|at| on(at, "CONFLICT")) {
            self.edit_conflict(at, &table);
        } else if let Some(at) = (0..self.list.len()).find(|at| on(at, "DUPLICATE")) {
            self.edit_duplicate(at, &table);
        }
    }

    /// The table of the first INSERT.
    fn find_inserted(&self) -> Option<Table> {
        let into = (0..self.list.len()).find(|at| self.list.is_word(*at, "INTO"))?;
        let name = self.list.name(into + 1)?;
        let schema = self.uses.schema;
        Some(schema.schema.tables[schema.find_table(&name)?].clone())
    }

    fn edit_conflict(&mut self, at: usize, table: &Table) {
        let mut action = at + 2;
        let mut target = None;
        if let Some(close) = self.list.partner(action).filter(|_| self.list.is_sign(action, "(")) {
            target = Some((action + 1, close));
            action = close + 1;
        }
        let updates = self.list.is_word(action, "DO") && self.list.is_word(action + 1, "UPDATE");
        let nothing = self.list.is_word(action, "DO") && self.list.is_word(action + 1, "NOTHING");
        if updates && self.list.is_word(action + 2, "SET") && self.dialect != Dialect::MySql {
            return self.qualify_reads(action + 3, &table.name);
        }
        if self.dialect != Dialect::MySql {
            return;
        }
        let only = target.is_none_or(|(from, to)| self.is_only_unique(table, from, to));
        match () {
            () if !only => {
                let (name, form) = (&table.name, write_mysql_form(table));
                let what = "MySQL can't tell which of several unique keys";
                self.fail(at, format!("{what} of {name} is meant: {form}"));
            }
            () if nothing => self.edit_nothing(at, action + 2),
            () if updates && self.list.is_word(action + 2, "SET") && target.is_some() => {
                self.drop_tokens(at, action + 3);
                self.edits[at] = TokenEdit::Write("ON DUPLICATE KEY UPDATE".into());
                self.edit_excluded(action + 3);
            }
            () => self.fail(
                at,
                "this ON CONFLICT isn't understood: write ON CONFLICT (key) DO UPDATE SET …, or DO \
                 NOTHING",
            ),
        }
    }

    /// The only form that leaves the number of rows at 0.
    fn edit_nothing(&mut self, at: usize, end: usize) {
        self.drop_tokens(at, end.min(self.list.len()));
        if let Some(insert) = (0..at).find(|at| self.list.is_word(*at, "INSERT")) {
            self.after[insert] += " IGNORE";
        }
    }

    /// `excluded.a` is `VALUES(a)`.
    fn edit_excluded(&mut self, from: usize) {
        for at in from..self.list.len() {
            if self.list.is_word(at, "WHERE") && self.list.depth(at) == self.list.depth(from) {
                return self.fail(
                    at,
                    format!("MySQL has no WHERE behind DO UPDATE: leave it out, {OR_VARIANTS}"),
                );
            }
            if self.list.is_word(at, "excluded")
                && self.list.is_sign(at + 1, ".")
                && at + 2 < self.list.len()
            {
                self.edits[at] = TokenEdit::Write("VALUES".into());
                self.edits[at + 1] = TokenEdit::Write("(".into());
                self.after[at + 2] += ")";
            }
        }
    }

    fn is_only_unique(&self, table: &Table, from: usize, to: usize) -> bool {
        let names = self.list.split_commas(from, to).into_iter().map(|(at, _)| self.list.name(at));
        let columns: Option<Vec<usize>> =
            names.map(|name| find_column(table, &name?)).collect::<Option<_>>();
        let Some(mut columns) = columns else { return false };
        columns.sort_unstable();
        let mut key = table.key.clone();
        key.sort_unstable();
        columns == key && !has_other_unique(table)
    }

    fn edit_duplicate(&mut self, at: usize, table: &Table) {
        if self.dialect == Dialect::MySql || !self.list.is_word(at + 3, "UPDATE") {
            return;
        }
        if has_other_unique(table) {
            let key = self.write_key(table);
            let what = format!(
                "{} has several unique keys, and MySQL updates the row that clashes in any: write \
                 the statement once below `-- mysql:`, and once below `-- sqlite, postgres:` with \
                 ON CONFLICT ({key}) DO UPDATE SET …",
                table.name
            );
            return self.fail(at, what);
        }
        self.drop_tokens(at, at + 4);
        let key = self.write_key(table);
        self.edits[at] = TokenEdit::Write(format!("ON CONFLICT ({key}) DO UPDATE SET"));
        self.qualify_reads(at + 4, &table.name);
        for at in at + 4..self.list.len() {
            let inner = self.list.partner(at + 1).filter(|close| *close == at + 3);
            if self.list.is_word(at, "VALUES") && inner.is_some() {
                self.edits[at] = TokenEdit::Write("excluded".into());
                self.edits[at + 1] = TokenEdit::Write(".".into());
                self.edits[at + 3] = TokenEdit::Drop;
            }
        }
    }

    fn write_key(&self, table: &Table) -> String {
        let key = table.key.iter().map(|column| self.dialect.quote(&table.columns[*column].name));
        key.collect::<Vec<_>>().join(", ")
    }

    /// A column that is read needs its table, or PostgreSQL can't tell it from the proposed one.
    fn qualify_reads(&mut self, from: usize, table: &str) {
        let end = (from..self.list.len())
            .find(|at| self.list.is_any_word(*at, &["WHERE", "RETURNING"]))
            .unwrap_or(self.list.len());
        for (from, to) in self.list.split_commas(from, end) {
            for at in from + 2..to {
                let qualified = self.list.is_sign(at - 1, ".") || self.list.is_sign(at + 1, ".");
                let proposed =
                    self.list.is_sign(at - 1, "(") && at > 1 && self.list.is_word(at - 2, "VALUES");
                if !qualified && !proposed && self.uses.find_column(self.list, at).is_some() {
                    self.before[at] += &format!("{}.", self.dialect.quote(table));
                }
            }
        }
    }
}

fn has_other_unique(table: &Table) -> bool {
    table.indexes.iter().any(|index| index.unique)
}

/// The variant to write for MySQL.
fn write_mysql_form(table: &Table) -> String {
    let rest = (0..table.columns.len()).filter(|column| !table.key.contains(column));
    let name = rest.map(|column| table.columns[column].name.as_str()).next().unwrap_or("a");
    format!(
        "write the statement once below `-- sqlite, postgres:`, and once below `-- mysql:` with \
         ON DUPLICATE KEY UPDATE {name} = VALUES({name})"
    )
}
