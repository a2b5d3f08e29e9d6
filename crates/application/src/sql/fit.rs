//! Statements that engines without SQL run, too: what they are as an [`Action`], or why they are
//! none.

use bakeoff_engines::Action;
use bakeoff_engines::schema::{Table, Type};

use super::parameters::ParameterSource;
use super::schema_file::{SqlSchema, find_column};
use super::table_uses::{TableUses, TokenFault, explain_unknown};
use super::token_list::{TokenCursor, TokenList};
use super::tokens::TokenKind;

mod condition;
mod insert;
mod key_write;
mod path;
mod read;
mod select_list;
mod value;

/// A statement as an action.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedStatement {
    /// What it does.
    pub action: Action,
    /// In the action's order.
    pub parameters: Vec<ParameterSource>,
    /// The names of the answer's columns, none for one without a name.
    pub columns: Vec<Option<String>>,
}

/// A reason why a statement is no action, in words.
type FitResult<T> = Result<T, String>;

/// Reads statements of one table.
struct Fitter<'t, 'a> {
    list: &'t TokenList<'a>,
    schema: &'t SqlSchema,
    /// Columns that the statement's only table doesn't have.
    faults: Vec<TokenFault>,
}

/// A table and what its columns may be qualified with.
#[derive(Clone)]
struct FromTable<'t> {
    number: usize,
    table: &'t Table,
    alias: String,
}

/// Words that no action has, and the reason.
const REASONS: [(&str, &str); 16] = [
    ("WITH", "WITH"),
    ("JOIN", "a join"),
    ("GROUP", "GROUP BY"),
    ("HAVING", "HAVING"),
    ("UNION", "UNION"),
    ("EXCEPT", "EXCEPT"),
    ("INTERSECT", "INTERSECT"),
    ("OVER", "a window"),
    ("OFFSET", "OFFSET"),
    ("CASE", "CASE"),
    ("EXISTS", "a subquery"),
    ("LIKE", "LIKE"),
    ("IS", "IS"),
    ("NOT", "NOT"),
    ("USING", "USING"),
    ("FETCH", "FETCH"),
];

/// The action that a statement is, or why it is none.
pub(super) fn fit_statement(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
    faults: &mut Vec<TokenFault>,
) -> Result<FittedStatement, String> {
    let has = |word: &str| (0..list.len()).any(|at| list.is_word(at, word));
    if let Some((_, reason)) = REASONS.iter().find(|(word, _)| has(word)) {
        return Err((*reason).into());
    }
    let mut fitter = Fitter { list, schema: uses.schema, faults: Vec::new() };
    let mut cursor = TokenCursor::new(list, 0, list.len());
    let fitted = match cursor.peek_upper().as_str() {
        "SELECT" => fitter.fit_select(&mut cursor),
        "INSERT" => fitter.fit_insert(&mut cursor),
        "UPDATE" => fitter.fit_update(&mut cursor),
        "DELETE" => fitter.fit_delete(&mut cursor),
        word => Err(format!("{word} is no read or write of one table")),
    };
    if uses.faults.is_empty() {
        faults.append(&mut fitter.faults);
    }
    fitted
}

impl<'t> Fitter<'t, '_> {
    /// A table and its alias, as in FROM.
    fn read_table(&mut self, cursor: &mut TokenCursor<'_, '_>) -> FitResult<FromTable<'t>> {
        if cursor.sees_sign("(") {
            return Err("a subquery".into());
        }
        let name = cursor.take_name().ok_or("it names no table")?;
        let number = self.schema.find_table(&name);
        let number = number.ok_or_else(|| format!("schema.sql has no table {name}"))?;
        let table = &self.schema.schema.tables[number];
        let marked = cursor.take_word("AS");
        let ends = ["SET", "VALUES"].iter().any(|word| cursor.sees_word(word));
        let alias = if ends && !marked { None } else { cursor.take_name() };
        if cursor.sees_sign(",") {
            return Err("a join".into());
        }
        Ok(FromTable { number, table, alias: alias.unwrap_or(name) })
    }

    /// The number of the column that a name means.
    fn read_column(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
    ) -> FitResult<usize> {
        let start = cursor.at;
        let unread = || format!("`{}` is no column", cursor.list.token(start));
        let mut name = cursor.take_name().ok_or_else(unread)?;
        let mut at = start;
        if cursor.take_sign(".") {
            let table = name.to_lowercase();
            at = cursor.at;
            name = cursor.take_name().ok_or("a name is missing behind the point")?;
            if table != from.alias.to_lowercase() {
                return Err(format!("{table} is another table"));
            }
        }
        if cursor.sees_sign("(") {
            return Err(format!("{name}() is computed"));
        }
        find_column(from.table, &name).ok_or_else(|| {
            let what = explain_unknown(from.table, &name);
            // A name in double quotes may be a text; that is told elsewhere.
            if self.list.kind(at) == Some(TokenKind::Word) {
                self.faults.push((at, what.clone()));
            }
            what
        })
    }

    /// Nothing may follow.
    fn expect_end(&self, cursor: &TokenCursor<'_, '_>) -> FitResult<()> {
        match cursor.is_done() {
            true => Ok(()),
            false => Err(format!("`{}`", self.list.join_tokens(cursor.at, cursor.end))),
        }
    }

    /// The type as it is written: [`SqlSchema`] has it beside the engines' columns.
    fn column_kind(&self, table: usize, column: usize) -> Type {
        self.schema.tables[table].columns[column].kind
    }
}

#[cfg(test)]
mod tests;
