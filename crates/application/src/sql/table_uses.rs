//! The tables that a statement names, and what its names mean.

use bakeoff_engines::schema::{Column, Type};

use super::keywords::is_grammar;
use super::schema_file::{SqlSchema, find_column};
use super::token_list::TokenList;
use super::tokens::TokenKind;

/// Functions with a FROM of their own.
const FROM_FUNCTIONS: [&str; 5] = ["EXTRACT", "SUBSTRING", "TRIM", "OVERLAY", "POSITION"];

/// What is wrong, and the token where.
pub(super) type TokenFault = (usize, String);

/// A table in FROM, JOIN, INTO or UPDATE.
#[derive(Clone, Debug)]
pub(super) struct TableUse {
    /// The table's number.
    pub table: usize,
    /// What its columns may be qualified with.
    pub alias: String,
}

/// All tables of a statement.
pub(super) struct TableUses<'s> {
    pub schema: &'s SqlSchema,
    pub uses: Vec<TableUse>,
    /// Unknown tables.
    pub faults: Vec<TokenFault>,
}

impl<'s> TableUses<'s> {
    pub fn new(list: &TokenList<'_>, schema: &'s SqlSchema) -> Self {
        let mut found = Self { schema, uses: Vec::new(), faults: Vec::new() };
        let made = find_made_names(list);
        for at in 0..list.len() {
            if introduces_table(list, at) {
                found.add_tables(list, at + 1, &made, list.is_word(at, "FROM"));
            }
        }
        found
    }

    /// Adds the table at a token, and those behind commas if it is in FROM.
    fn add_tables(&mut self, list: &TokenList<'_>, from: usize, made: &[String], more: bool) {
        let mut at = from;
        loop {
            at += usize::from(list.is_any_word(at, &["ONLY", "LATERAL"]));
            let end = match list.partner(at) {
                Some(close) if list.is_sign(at, "(") => close + 1,
                _ => match list.name(at) {
                    Some(name) => self.add_table(list, at, &name, made),
                    None => return,
                },
            };
            let mut end = end + usize::from(list.is_word(end, "AS"));
            end += usize::from(list.name(end).is_some());
            if !more || !list.is_sign(end, ",") {
                return;
            }
            at = end + 1;
        }
    }

    /// Adds a table, and gives the token behind its name.
    fn add_table(&mut self, list: &TokenList<'_>, at: usize, name: &str, made: &[String]) -> usize {
        if list.is_sign(at + 1, ".") {
            let what =
                format!("write the table without `{name}.`: bakeoff makes a database of its own");
            self.faults.push((at, what));
            return at + 3;
        }
        let is_function = list.is_sign(at + 1, "(") && !(at > 0 && list.is_word(at - 1, "INTO"));
        if is_function || made.iter().any(|made| made == name) {
            return at + 1;
        }
        let Some(table) = self.schema.find_table(name) else {
            let known = self.schema.schema.tables.iter().map(|table| table.name.as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            let what = match known.as_str() {
                "" => format!("schema.sql has no table {name}: create it there"),
                _ => format!("schema.sql has no table {name}; it has {known}"),
            };
            self.faults.push((at, what));
            return at + 1;
        };
        let alias_at = at + 1 + usize::from(list.is_word(at + 1, "AS"));
        let ends = ["SET", "VALUES", "DEFAULT"];
        let alias = list.name(alias_at).filter(|_| !list.is_any_word(alias_at, &ends));
        let alias = alias.unwrap_or_else(|| self.schema.schema.tables[table].name.clone());
        self.uses.push(TableUse { table, alias });
        at + 1
    }

    fn find_used(&self, name: &str) -> Option<&TableUse> {
        let name = name.to_lowercase();
        self.uses.iter().find(|table| table.alias.to_lowercase() == name)
    }

    /// The table and number of the column that a name at a token means.
    pub fn find_column(&self, list: &TokenList<'_>, at: usize) -> Option<(usize, usize)> {
        if is_grammar(list, at) {
            return None;
        }
        let name = list.name(at)?;
        let column = |table: usize| find_column(&self.schema.schema.tables[table], &name);
        let qualifier = (at > 1 && list.is_sign(at - 1, ".")).then(|| list.name(at - 2)).flatten();
        match qualifier {
            Some(qualifier) if qualifier == "excluded" => {
                let table = self.uses.first()?.table;
                Some((table, column(table)?))
            }
            Some(qualifier) => {
                let table = self.find_used(&qualifier)?.table;
                Some((table, column(table)?))
            }
            None => self.uses.iter().find_map(|used| Some((used.table, column(used.table)?))),
        }
    }

    pub fn column(&self, (table, column): (usize, usize)) -> &Column {
        &self.schema.schema.tables[table].columns[column]
    }

    /// The type of the column that a name at a token means.
    pub fn find_kind(&self, list: &TokenList<'_>, at: usize) -> Option<Type> {
        let (table, column) = self.find_column(list, at)?;
        Some(self.schema.tables.get(table)?.columns.get(column)?.kind)
    }

    /// The name of the schema that a word at a token means.
    pub fn find_schema_name(&self, list: &TokenList<'_>, at: usize) -> Option<&str> {
        if is_grammar(list, at) {
            return None;
        }
        if let Some(found) = self.find_column(list, at) {
            return Some(&self.column(found).name);
        }
        let name = list.name(at)?;
        let used = self.uses.iter().map(|used| &self.schema.schema.tables[used.table].name);
        let mut same = used.filter(|table| table.to_lowercase() == name.to_lowercase());
        same.next().map(String::as_str)
    }

    /// Columns with a table's name that it doesn't have, and texts that are written as names.
    pub fn find_unknown_columns(&self, list: &TokenList<'_>) -> Vec<TokenFault> {
        let mut faults = Vec::new();
        for at in 0..list.len() {
            let Some(name) = list.name(at) else { continue };
            let table = list.name(at + 2).filter(|_| list.is_sign(at + 1, "."));
            if let (Some(column), Some(used)) = (table, self.find_used(&name)) {
                let table = &self.schema.schema.tables[used.table];
                if find_column(table, &column).is_none() {
                    faults.push((at + 2, explain_unknown(table, &column)));
                }
            } else if self.is_stray_name(list, at) {
                let token = list.token(at);
                let what =
                    format!("{token} is no table or column here: a text is written '{name}'");
                faults.push((at, what));
            }
        }
        faults
    }

    /// Whether a name in double quotes is not declared anywhere. SQLite takes it for a text.
    fn is_stray_name(&self, list: &TokenList<'_>, at: usize) -> bool {
        let double = |at: usize| list.token(at).starts_with('"');
        let compared = at > 0
            && ["=", "<", ">", "<=", ">=", "<>", "!="]
                .iter()
                .any(|sign| list.is_sign(at - 1, sign));
        let listed =
            at > 1 && list.is_sign(at - 1, "(") && list.is_any_word(at - 2, &["VALUES", "IN"]);
        let likes = at > 0 && list.is_word(at - 1, "LIKE");
        list.kind(at) == Some(TokenKind::QuotedName)
            && double(at)
            && (compared || listed || likes)
            && !list.is_sign(at + 1, ".")
            && !(0..list.len()).any(|other| other != at && list.token(other) == list.token(at))
            && self.find_schema_name(list, at).is_none()
    }
}

/// What to say of a column that a table doesn't have.
pub(super) fn explain_unknown(table: &bakeoff_engines::schema::Table, column: &str) -> String {
    let known: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    format!("the table {} has no column {column}; it has {}", table.name, known.join(", "))
}

/// Whether a table's name follows.
fn introduces_table(list: &TokenList<'_>, at: usize) -> bool {
    let before = |words: &[&str]| at > 0 && list.is_any_word(at - 1, words);
    if list.is_word(at, "FROM") {
        return !before(&["DISTINCT"]) && !is_in_function(list, at);
    }
    list.is_any_word(at, &["JOIN", "INTO"])
        || (list.is_word(at, "UPDATE") && !before(&["FOR", "KEY", "DO", "ON"]))
}

fn is_in_function(list: &TokenList<'_>, at: usize) -> bool {
    let depth = list.depth(at);
    if depth == 0 {
        return false;
    }
    let open = (0..at).rev().find(|open| list.is_sign(*open, "(") && list.depth(*open) < depth);
    open.is_some_and(|open| open > 0 && list.is_any_word(open - 1, &FROM_FUNCTIONS))
}

/// Names of WITH.
fn find_made_names(list: &TokenList<'_>) -> Vec<String> {
    if !list.is_word(0, "WITH") {
        return Vec::new();
    }
    let made = |at: usize| {
        let name = list.name(at)?;
        let columns = list.partner(at + 1).filter(|_| list.is_sign(at + 1, "("));
        let mut end = columns.map_or(at + 1, |close| close + 1);
        if !list.is_word(end, "AS") {
            return None;
        }
        end += 1;
        end += usize::from(list.is_word(end, "NOT"));
        end += usize::from(list.is_word(end, "MATERIALIZED"));
        list.is_sign(end, "(").then_some(name)
    };
    (0..list.len()).filter_map(made).collect()
}
