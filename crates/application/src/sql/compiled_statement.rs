//! A statement of an operation, ready for every engine.

use bakeoff_engines::sql::Dialect;
use bakeoff_engines::{Action, SqlText, Statement};

use super::differences::find_differences;
use super::fit::{FittedStatement, fit_statement};
use super::parameters::{DialectText, DialectTexts, ParameterSource};
use super::result_columns::read_column_names;
use super::rights::{check_rights, find_running_comment};
use super::schema_file::SqlSchema;
use super::split::{DIALECTS, StatementSpan, find_statements, find_wrong_marks};
use super::table_uses::{TableUses, TokenFault};
use super::token_list::TokenList;
use super::translate::{find_lock_end, translate_statement};
use crate::{Mistakes, SourcePlace};

/// What a statement is to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// It begins one.
    Begin,
    /// It ends one, and keeps its changes.
    Commit,
    /// It ends one, and undoes its changes.
    Rollback,
    /// It reads.
    Select,
    /// It writes.
    Other,
}

/// A statement of an operation, or its variants for several databases.
#[derive(Clone, Debug)]
pub struct CompiledStatement {
    /// Where its first word stands.
    pub place: SourcePlace,
    /// Its name in traces and reports: `buy.sql:7`.
    pub name: String,
    /// What it is to a transaction.
    pub kind: StatementKind,
    /// Whether it changes rows.
    pub writes: bool,
    /// Whether it locks the rows that it reads, as `FOR UPDATE`. Its transaction will write.
    pub locks: bool,
    /// What it is to engines that have no SQL.
    pub fitted: Option<FittedStatement>,
    /// Why they can't run it.
    pub why_not: Option<String>,
    /// Its text for each dialect.
    pub texts: DialectTexts,
    /// The names of the answer's columns, none for one without a name; `None` if they aren't known.
    pub columns: Option<Vec<Option<String>>>,
}

impl CompiledStatement {
    /// The statement as engines get it.
    pub fn to_statement(&self) -> Statement {
        let action = match &self.fitted {
            Some(fitted) => fitted.action.clone(),
            None => Action::Sql(SqlText {
                sqlite: self.texts.sqlite.text.clone(),
                mysql: self.texts.mysql.text.clone(),
                postgres: self.texts.postgres.text.clone(),
                place: format!("{}:{}", self.place.file, self.place.line),
                why: self.why_not.clone().unwrap_or_default(),
                writes: self.writes || self.locks,
                parameters: self.texts.postgres.parameters.len(),
            }),
        };
        Statement { name: self.name.clone(), action }
    }

    /// Where the values of its parameters come from, in their order.
    pub fn list_sources(&self) -> &[ParameterSource] {
        match &self.fitted {
            Some(fitted) => &fitted.parameters,
            None => &self.texts.postgres.parameters,
        }
    }

    /// Sessions send the same values to every engine.
    fn check_orders(&self, mistakes: &mut Mistakes) {
        let order = |dialect| -> Vec<String> {
            self.texts.get(dialect).parameters.iter().map(ParameterSource::describe).collect()
        };
        let first = order(Dialect::Postgres);
        if DIALECTS.iter().any(|dialect| order(*dialect) != first) {
            let what =
                "the variants have other parameters, or in another order: use the same in each";
            mistakes.add(self.place.clone(), what);
        }
    }
}

/// One variant of a statement.
struct StatementVariant<'a> {
    text: &'a str,
    place: SourcePlace,
    /// The dialects that it is for.
    dialects: Vec<Dialect>,
}

/// Compiles one statement, or all its variants; see [`super::split_statements`]. `place` is where
/// `text` begins. It gives nothing if the statement can't be run.
pub fn compile_statement(
    text: &str,
    place: &SourcePlace,
    schema: &SqlSchema,
    mistakes: &mut Mistakes,
) -> Option<CompiledStatement> {
    let variants = read_variants(text, place, mistakes)?;
    let differ = variants.len() > 1;
    let mut compiled: Option<CompiledStatement> = None;
    let mut is_sound = true;
    for variant in &variants {
        let list = TokenList::new(variant.text, &variant.place);
        let mut found = Mistakes::default();
        let first = compile_variant(&list, schema, differ, &variant.dialects, &mut found);
        is_sound &= found.is_empty();
        found.iter().for_each(|mistake| mistakes.add(mistake.place.clone(), mistake.what.clone()));
        match &mut compiled {
            None => compiled = Some(first),
            Some(whole) => add_variant(whole, first, &variant.dialects, mistakes),
        }
    }
    let compiled = compiled.filter(|_| is_sound)?;
    if compiled.fitted.is_none() {
        compiled.check_orders(mistakes);
    }
    Some(compiled)
}

fn add_variant(
    whole: &mut CompiledStatement,
    variant: CompiledStatement,
    dialects: &[Dialect],
    mistakes: &mut Mistakes,
) {
    for dialect in dialects {
        whole.texts.set(*dialect, variant.texts.get(*dialect).clone());
    }
    if whole.kind != variant.kind || whole.writes != variant.writes {
        mistakes.add(
            variant.place,
            "one variant reads and the other writes: they have to be the same statement",
        );
    }
    let width = |columns: &Option<Vec<_>>| columns.as_ref().map(Vec::len);
    if whole.columns != variant.columns && width(&whole.columns) != width(&variant.columns) {
        whole.columns = None;
    }
    whole.locks |= variant.locks;
}

/// The variants of a text; nothing if it is not one statement.
fn read_variants<'a>(
    text: &'a str,
    place: &SourcePlace,
    mistakes: &mut Mistakes,
) -> Option<Vec<StatementVariant<'a>>> {
    for (byte, what) in find_wrong_marks(text) {
        mistakes.add(place.advance(text, byte), what);
    }
    let mut known: Vec<Dialect> = Vec::new();
    let mut variants = Vec::new();
    let spans = find_statements(text);
    let plain = |statement: &StatementSpan| statement.dialects.is_empty();
    let mixed = spans.len() > 1 && spans.iter().any(plain);
    if let Some(second) = spans.get(1).filter(|_| mixed) {
        let what = "this is another statement: write it by itself";
        mistakes.add(place.advance(text, second.span.start), what);
        return None;
    }
    for StatementSpan { span, dialects } in spans {
        let place = place.advance(text, span.start);
        if dialects.iter().any(|dialect| known.contains(dialect)) {
            mistakes.add(place, "this database has a variant already: remove one");
            return None;
        }
        known.extend(&dialects);
        variants.push(StatementVariant { text: &text[span], place, dialects });
    }
    let first = variants.first_mut()?;
    if known.is_empty() {
        first.dialects = DIALECTS.to_vec();
    } else if let Some(missing) = DIALECTS.iter().find(|dialect| !known.contains(dialect)) {
        mistakes.add(first.place.clone(), explain_missing(*missing));
        return None;
    }
    Some(variants)
}

fn explain_missing(dialect: Dialect) -> String {
    let (name, beside) = match dialect {
        Dialect::Sqlite => ("sqlite", "mysql"),
        Dialect::MySql => ("mysql", "sqlite"),
        Dialect::Postgres => ("postgres", "sqlite"),
    };
    format!(
        "a variant for {name} is missing: write it below `-- {name}:`, or name {name} beside \
         another, as `-- {name}, {beside}:`"
    )
}

fn compile_variant(
    list: &TokenList<'_>,
    schema: &SqlSchema,
    differ: bool,
    dialects: &[Dialect],
    mistakes: &mut Mistakes,
) -> CompiledStatement {
    let uses = TableUses::new(list, schema);
    let mut faults = check_rights(list);
    if let Some(byte) = find_running_comment(list.text) {
        let what =
            "MySQL runs what stands in this comment: write `/* …`, or a variant below `-- mysql:`";
        mistakes.add(list.place.advance(list.text, byte), what);
    }
    let kind = read_kind(list);
    faults.extend(check_transaction(list, kind));
    let mut texts = DialectTexts { differ, ..DialectTexts::default() };
    let mut fitted = Err("its text differs between databases".into());
    // Of what is refused as a whole nothing else is said.
    if faults.is_empty() {
        if is_transaction(kind) {
            fitted = Err("it begins or ends a transaction".into());
        } else if !differ {
            fitted = fit_statement(list, &uses, &mut faults);
        }
        faults.extend(check_meaning(list, &uses, differ));
        for dialect in dialects {
            let (text, found) = match write_upsert(&fitted, schema, *dialect) {
                Some(text) => (text, Vec::new()),
                None => translate_statement(list, &uses, *dialect),
            };
            faults.extend(found);
            texts.set(*dialect, text);
        }
    }
    faults.into_iter().for_each(|(at, what)| mistakes.add(list.place_of(at), what));
    build_statement(list, &uses, kind, fitted, texts)
}

/// Names that are unknown, and what differs between databases if there are no variants.
fn check_meaning(list: &TokenList<'_>, uses: &TableUses<'_>, differ: bool) -> Vec<TokenFault> {
    let mut faults = uses.faults.clone();
    faults.extend(uses.find_unknown_columns(list));
    if !differ {
        faults.extend(find_differences(list, uses));
    }
    faults
}

fn build_statement(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
    kind: StatementKind,
    fitted: Result<FittedStatement, String>,
    texts: DialectTexts,
) -> CompiledStatement {
    let place = list.place_of(0);
    CompiledStatement {
        name: format!("{}:{}", place.file.rsplit('/').next().unwrap_or_default(), place.line),
        place,
        kind,
        writes: kind == StatementKind::Other,
        locks: (0..list.len()).any(|at| find_lock_end(list, at).is_some()),
        why_not: fitted.as_ref().err().cloned(),
        fitted: fitted.ok(),
        texts,
        columns: read_column_names(list, uses),
    }
}

/// MySQL's text of an upsert that other unique keys don't get in the way of.
fn write_upsert(
    fitted: &Result<FittedStatement, String>,
    schema: &SqlSchema,
    dialect: Dialect,
) -> Option<DialectText> {
    let fitted = fitted.as_ref().ok().filter(|_| dialect == Dialect::MySql)?;
    if !matches!(fitted.action, Action::Upsert { .. }) {
        return None;
    }
    let text = dialect.statement_text(&schema.schema, &fitted.action).ok()?;
    Some(DialectText { text, parameters: fitted.parameters.clone() })
}

fn is_transaction(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Begin | StatementKind::Commit | StatementKind::Rollback)
}

fn read_kind(list: &TokenList<'_>) -> StatementKind {
    if list.is_any_word(0, &["BEGIN", "START"]) {
        return StatementKind::Begin;
    }
    if list.is_any_word(0, &["COMMIT", "END"]) {
        return StatementKind::Commit;
    }
    if list.is_word(0, "ROLLBACK") {
        return StatementKind::Rollback;
    }
    match (0..list.len()).any(|at| begins_write(list, at)) {
        true => StatementKind::Other,
        false => StatementKind::Select,
    }
}

/// Whether a write begins at a token: first, or in WITH.
fn begins_write(list: &TokenList<'_>, at: usize) -> bool {
    let first = at == 0 || list.is_sign(at - 1, "(") || list.is_sign(at - 1, ")");
    first
        && list.is_any_word(at, &["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"])
        && !list.is_sign(at + 1, "(")
}

/// The words that a transaction begins or ends with.
fn check_transaction(list: &TokenList<'_>, kind: StatementKind) -> Option<(usize, String)> {
    if !is_transaction(kind) {
        return None;
    }
    let starts = list.is_word(0, "START");
    if starts && !list.is_word(1, "TRANSACTION") {
        return Some((0, "write START TRANSACTION, or BEGIN".into()));
    }
    let mode = kind == StatementKind::Begin
        && list.is_any_word(1, &["IMMEDIATE", "DEFERRED", "EXCLUSIVE"]);
    let mut end = 1 + usize::from(mode);
    end += usize::from(list.is_any_word(end, &["TRANSACTION", "WORK"]));
    (end < list.len()).then(|| {
        let rest = list.join_tokens(end, list.len());
        let why = "bakeoff finds out what only reads, and isolation belongs to the experiment";
        (end, format!("leave out `{rest}`: {why}"))
    })
}

#[cfg(test)]
mod tests;
