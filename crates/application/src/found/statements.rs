//! Statements that a server counted, as operations: a parameter gets the value of the column that it
//! is compared with, in a row as it was loaded.

use crate::SourcePlace;
use crate::sql::{DeclaredTable, FoundSchema, TokenCursor, TokenKind, TokenList};

const KINDS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "DELETE"];
/// Words that are no functions.
const BEFORE_BRACKETS: [&str; 24] = [
    "IN", "VALUES", "AND", "OR", "NOT", "ON", "WHERE", "EXISTS", "AS", "FROM", "JOIN", "SELECT",
    "BY", "BETWEEN", "SET", "HAVING", "CASE", "WHEN", "THEN", "ELSE", "LIKE", "USING", "OVER",
    "UNION",
];
const COMPARISONS: [&str; 7] = ["=", "<>", "!=", "<", ">", "<=", ">="];

/// The script of a statement; `None` if it is no statement of the application. The error says why it
/// can be none.
pub fn convert_statement(text: &str, schema: &FoundSchema) -> Option<Result<String, String>> {
    let text = number_parameters(text);
    let place = SourcePlace::from_file("");
    let list = TokenList::new(&text, &place);
    if !list.is_any_word(0, &KINDS) {
        return None;
    }
    let tables = list_tables(&list, schema);
    if tables.is_empty() {
        return None;
    }
    Some(StatementConverter { list: &list, tables }.convert())
}

/// `$1` and `?` become `:p1`, in turn, and `(...)` of MySQL's digests `(:p1)`.
fn number_parameters(text: &str) -> String {
    let (mut numbered, mut count, mut quote) = (String::new(), 0, None);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match (quote, first) {
            (Some(open), _) => {
                quote = quote.filter(|_| open != first);
                0
            }
            (None, '\'' | '"' | '`') => {
                quote = Some(first);
                0
            }
            (None, '$') => {
                let digits = rest[1..].chars().take_while(char::is_ascii_digit).count();
                if digits > 0 { 1 + digits } else { 0 }
            }
            (None, '?') => 1,
            (None, '.') if rest.starts_with("...") => 3,
            _ => 0,
        };
        match length {
            0 => {
                numbered.push(first);
                rest = &rest[first.len_utf8()..];
            }
            _ => {
                count += 1;
                numbered += &format!(":p{count}");
                rest = &rest[length..];
            }
        }
    }
    numbered.trim().trim_end_matches(';').to_owned()
}

/// Tables of the schema that stand behind FROM, JOIN, UPDATE or INTO.
fn list_tables<'s>(list: &TokenList<'_>, schema: &'s FoundSchema) -> Vec<&'s DeclaredTable> {
    let mut found = Vec::new();
    for at in 0..list.len() {
        if !list.is_any_word(at, &["FROM", "JOIN", "UPDATE", "INTO"]) {
            continue;
        }
        let mut name = list.name(at + 1);
        if list.is_sign(at + 2, ".") {
            name = list.name(at + 3);
        }
        let named = |table: &&DeclaredTable| {
            name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&table.name))
        };
        found.extend(schema.tables.iter().find(named));
    }
    found
}

struct StatementConverter<'a> {
    list: &'a TokenList<'a>,
    tables: Vec<&'a DeclaredTable>,
}

impl StatementConverter<'_> {
    fn convert(&self) -> Result<String, String> {
        let (mut head, mut body) = (String::new(), String::new());
        let mut picked: Vec<&str> = Vec::new();
        let mut end = 0;
        for at in 0..self.list.len() {
            if !self.begins_call(at) {
                body += &self.list.text[end..self.list.start(at)];
            }
            end = self.list.end(at);
            match self.list.kind(at) {
                Some(TokenKind::Parameter) => {
                    let value = self.find_value(at)?;
                    if let FoundValue::Column(table, _) = &value
                        && !picked.contains(&&*table.name)
                    {
                        picked.push(&table.name);
                        head += &format!("\\pick r{} FROM {}\n", picked.len(), table.name);
                    }
                    body += &match value {
                        FoundValue::Column(table, column) => {
                            let number = picked.iter().position(|it| *it == table.name);
                            format!(":r{}_{column}", number.map_or(0, |it| it + 1))
                        }
                        FoundValue::New => {
                            let name = self.list.token(at).trim_start_matches(':');
                            head += &format!("\\set {name} random(1000000000, 1000000000000)\n");
                            self.list.token(at).to_owned()
                        }
                        FoundValue::Number(number) => number.to_string(),
                    };
                }
                _ => body += self.list.token(at),
            }
        }
        let writes = self.list.is_word(0, "INSERT");
        let skip = if writes { "\\on_duplicate skip\n" } else { "" };
        Ok(format!("{skip}{head}{};\n", body.trim()))
    }

    /// MariaDB's digests have a space before the bracket of a call, and its servers take none there.
    fn begins_call(&self, at: usize) -> bool {
        let list = self.list;
        let is_call = |before: usize| {
            list.kind(before) == Some(TokenKind::Word)
                && !list.is_any_word(before, &BEFORE_BRACKETS)
        };
        list.is_sign(at, "(") && at.checked_sub(1).is_some_and(is_call)
    }

    fn find_value(&self, at: usize) -> Result<FoundValue<'_>, String> {
        let list = self.list;
        if at > 0 && list.is_word(at - 1, "LIMIT") {
            return Ok(FoundValue::Number(10));
        }
        if at > 0 && list.is_word(at - 1, "OFFSET") {
            return Ok(FoundValue::Number(0));
        }
        if let Some(value) = self.find_inserted(at) {
            return value;
        }
        let column = self.find_compared(at).and_then(|name| self.find_column(&name));
        column.ok_or_else(|| {
            format!(
                "bakeoff can't tell which column's value its parameter {} has: write it as an operation \
                 yourself",
                list.token(at).trim_start_matches(":p")
            )
        })
    }

    fn find_column(&self, name: &str) -> Option<FoundValue<'_>> {
        let plain = |it: &str| it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        self.tables.iter().find_map(|table| {
            let found = table.columns.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
            plain(&found.name).then_some(FoundValue::Column(table, &found.name))
        })
    }

    /// The name of the column that a parameter is compared with or becomes.
    fn find_compared(&self, at: usize) -> Option<String> {
        let list = self.list;
        let before = at.checked_sub(1)?;
        let is_comparison = COMPARISONS.iter().any(|sign| list.is_sign(before, sign))
            || list.is_any_word(before, &["LIKE", "BETWEEN"]);
        if is_comparison {
            return list.name(before.checked_sub(1)?);
        }
        if list.is_word(before, "AND") && list.is_word(at.checked_sub(3)?, "BETWEEN") {
            return list.name(at.checked_sub(4)?);
        }
        // Of `column IN (:p1, :p2)`.
        let open = (0..at).rev().find(|it| list.depth(*it) + 1 == list.depth(at))?;
        let is_list = list.is_sign(open, "(") && list.is_word(open.checked_sub(1)?, "IN");
        is_list.then(|| list.name(open.checked_sub(2)?))?
    }

    /// The value of a parameter among those of `INSERT INTO table (columns) VALUES (…)`.
    fn find_inserted(&self, at: usize) -> Option<Result<FoundValue<'_>, String>> {
        let list = self.list;
        if !list.is_word(0, "INSERT") {
            return None;
        }
        let values = list.find_word(0, at, 0, "VALUES")?;
        let open = (0..at).rev().find(|it| list.depth(*it) == 0 && list.is_sign(*it, "("))?;
        if open < values || list.depth(at) != 1 {
            return None;
        }
        let table = self.tables.first()?;
        let columns = (0..values).find(|it| list.is_sign(*it, "("))?;
        let mut columns = TokenCursor::new(list, columns, values).take_brackets()?;
        let columns = columns.take_names()?;
        let parts = list.split_commas(open + 1, list.partner(open)?);
        let number = parts.iter().position(|part| *part == (at, at + 1))?;
        let column = columns.get(number)?;
        if !table.is_unique(column) {
            return self.find_column(column).map(Ok);
        }
        let found = table.columns.iter().find(|it| it.name.eq_ignore_ascii_case(column))?;
        Some(match found.kind.contains("INT") {
            true => Ok(FoundValue::New),
            false => Err(format!("it gives {column} a value that may be there already")),
        })
    }
}

enum FoundValue<'a> {
    /// That of a row as it was loaded.
    Column(&'a DeclaredTable, &'a str),
    /// A number that is hardly there.
    New,
    Number(u32),
}
