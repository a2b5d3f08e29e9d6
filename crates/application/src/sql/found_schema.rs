//! Tables as another database's dump declares them, and a `schema.sql` of them.

use super::keywords::is_reserved;
use super::schema_file::is_constraint;
use super::token_list::{TokenCursor, TokenList};
use super::tokens::TokenKind;
use crate::SourcePlace;

/// A table that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredTable {
    pub name: String,
    pub columns: Vec<FoundColumn>,
    pub key: Vec<String>,
    pub unique: Vec<Vec<String>>,
    indexes: Vec<Vec<String>>,
    references: Vec<FoundReference>,
}

/// A column that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundColumn {
    pub name: String,
    /// As `schema.sql` has it.
    pub kind: String,
    pub is_required: bool,
    /// Whether the database numbers it.
    pub is_numbered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundReference {
    columns: Vec<String>,
    parent: String,
    parent_columns: Option<Vec<String>>,
}

/// All tables that were found.
#[derive(Debug, Default)]
pub struct FoundSchema {
    pub tables: Vec<DeclaredTable>,
    /// What `schema.sql` has no room for.
    pub notes: Vec<String>,
}

/// The table that a statement makes, with its columns.
pub fn list_declared_columns(statement: &str) -> Option<(String, Vec<String>)> {
    let mut found = FoundSchema::default();
    found.add_statement(statement);
    let table = found.tables.pop()?;
    Some((table.name, table.columns.into_iter().map(|column| column.name).collect()))
}

/// A name as SQL writes it.
pub fn write_name(name: &str) -> String {
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    match begins && name.chars().all(is_plain) && !is_reserved(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn write_names(names: &[String]) -> String {
    names.iter().map(|name| write_name(name)).collect::<Vec<_>>().join(", ")
}

impl FoundSchema {
    /// Adds what a statement declares: `CREATE TABLE`, `CREATE INDEX`, or `ALTER TABLE`.
    pub fn add_statement(&mut self, text: &str) {
        let place = SourcePlace::from_file("");
        let list = TokenList::new(text, &place);
        let mut cursor = TokenCursor::new(&list, 0, list.len());
        if cursor.take_words(&["ALTER", "TABLE"]) {
            self.read_change(&mut cursor);
        } else if cursor.take_word("CREATE") {
            let is_unique = cursor.take_word("UNIQUE");
            while ["TEMPORARY", "TEMP", "UNLOGGED", "GLOBAL", "LOCAL"]
                .iter()
                .any(|word| cursor.take_word(word))
            {}
            if cursor.take_word("TABLE") {
                self.read_table(&mut cursor);
            } else if cursor.take_word("INDEX") {
                self.read_index(&mut cursor, is_unique);
            }
        }
    }

    fn find_table(&mut self, name: &str) -> Option<&mut DeclaredTable> {
        self.tables.iter_mut().find(|table| table.name == name)
    }

    fn read_table(&mut self, cursor: &mut TokenCursor<'_, '_>) {
        cursor.take_words(&["IF", "NOT", "EXISTS"]);
        let Some(name) = read_table_name(cursor) else { return };
        let Some(inner) = cursor.take_brackets() else { return };
        let mut table = DeclaredTable { name, ..DeclaredTable::default() };
        for (from, to) in cursor.list.split_commas(inner.at, inner.end) {
            let mut part = TokenCursor::new(cursor.list, from, to);
            match is_constraint(&part) {
                true => self.notes.extend(table.read_constraint(&mut part)),
                false => table.read_column(&mut part),
            }
        }
        self.tables.push(table);
    }

    fn read_change(&mut self, cursor: &mut TokenCursor<'_, '_>) {
        cursor.take_words(&["IF", "EXISTS"]);
        cursor.take_word("ONLY");
        let Some(name) = read_table_name(cursor) else { return };
        let Some(table) = self.find_table(&name) else { return };
        if cursor.take_words(&["ALTER", "COLUMN"]) {
            let column = cursor.take_name();
            let rest = cursor.list.join_tokens(cursor.at, cursor.end).to_lowercase();
            let numbered = rest.contains("identity") || rest.contains("nextval");
            let found = table.columns.iter_mut().find(|it| Some(&it.name) == column.as_ref());
            found.into_iter().for_each(|it| it.is_numbered |= numbered);
        } else if cursor.take_word("ADD") {
            let note = table.read_constraint(cursor);
            self.notes.extend(note);
        }
    }

    fn read_index(&mut self, cursor: &mut TokenCursor<'_, '_>, is_unique: bool) {
        cursor.take_words(&["IF", "NOT", "EXISTS"]);
        let index = if cursor.sees_word("ON") { None } else { read_table_name(cursor) };
        if !cursor.take_word("ON") {
            return;
        }
        cursor.take_word("ONLY");
        let Some(name) = read_table_name(cursor) else { return };
        let is_ordered = !cursor.take_word("USING") || cursor.take_word("btree");
        let columns = read_columns(cursor).filter(|_| is_ordered && cursor.is_done());
        match (columns, self.find_table(&name)) {
            (Some(columns), Some(table)) if is_unique => table.unique.push(columns),
            (Some(columns), Some(table)) => table.indexes.push(columns),
            (None, Some(_)) => self.notes.push(format!(
                "the index {} of {name} is left out: bakeoff's indexes have whole columns and all rows",
                index.unwrap_or_default()
            )),
            (_, None) => {}
        }
    }

    /// A table and its indexes, as `schema.sql` has them.
    pub fn write_table(&self, table: &DeclaredTable) -> String {
        table.to_text(self)
    }

    /// The text of `schema.sql`. Tables without a key are no part of it.
    pub fn to_schema_file(&self) -> String {
        let mut text = String::new();
        for table in self.tables.iter().filter(|table| !table.key.is_empty()) {
            text += &self.write_table(table);
        }
        text
    }
}

/// A name without its schema's; a reserved word may be one here.
fn read_table_name(cursor: &mut TokenCursor<'_, '_>) -> Option<String> {
    loop {
        let name = cursor.take_name().or_else(|| {
            let word = cursor.peek_upper();
            cursor.at += usize::from(!word.is_empty());
            Some(word.to_lowercase()).filter(|word| !word.is_empty())
        })?;
        if !cursor.take_sign(".") {
            return Some(name);
        }
    }
}

/// Plain columns in brackets; prefixes and orders are left out.
fn read_columns(cursor: &mut TokenCursor<'_, '_>) -> Option<Vec<String>> {
    let inner = cursor.take_brackets()?;
    let list = cursor.list;
    let column = |(from, _): (usize, usize)| {
        let calls = list.is_sign(from + 1, "(") && list.kind(from + 2) != Some(TokenKind::Number);
        list.name(from).filter(|_| !calls)
    };
    list.split_commas(inner.at, inner.end).into_iter().map(column).collect()
}

impl DeclaredTable {
    /// A constraint of the whole table; a note if it has no place in `schema.sql`.
    fn read_constraint(&mut self, part: &mut TokenCursor<'_, '_>) -> Option<String> {
        if part.take_word("CONSTRAINT") {
            part.at += usize::from(!part.is_done());
        }
        if part.take_words(&["PRIMARY", "KEY"]) {
            self.key = read_columns(part).unwrap_or_default();
        } else if part.take_words(&["FOREIGN", "KEY"]) {
            if !part.sees_sign("(") {
                part.take_name();
            }
            let columns = read_columns(part)?;
            self.read_parent(part, columns);
        } else if part.take_word("UNIQUE") {
            let _ = part.take_word("KEY") || part.take_word("INDEX");
            if !part.sees_sign("(") {
                part.take_name();
            }
            self.unique.extend(read_columns(part));
        } else if part.take_word("KEY") || part.take_word("INDEX") {
            if !part.sees_sign("(") {
                part.take_name();
            }
            self.indexes.extend(read_columns(part));
        } else if part.sees_word("FULLTEXT") || part.sees_word("SPATIAL") {
            return Some(format!("an index of {} for texts or places is left out", self.name));
        }
        None
    }

    fn read_parent(&mut self, part: &mut TokenCursor<'_, '_>, columns: Vec<String>) {
        if part.take_word("REFERENCES")
            && let Some(parent) = read_table_name(part)
        {
            let parent_columns = read_columns(part);
            self.references.push(FoundReference { columns, parent, parent_columns });
        }
    }

    fn read_column(&mut self, part: &mut TokenCursor<'_, '_>) {
        let Some(name) = read_table_name(part) else { return };
        let (kind, mut is_numbered) = read_foreign_type(part);
        let rest = part.list.join_tokens(part.at, part.end).to_lowercase();
        let words: Vec<&str> = rest.split([' ', '(', ')']).collect();
        is_numbered |= ["auto_increment", "autoincrement", "identity", "nextval"]
            .iter()
            .any(|word| words.contains(word));
        // The database makes its values of others.
        if words.contains(&"as") && !is_numbered {
            return;
        }
        let has = |one: &str, two: &str| words.windows(2).any(|pair| pair == [one, two]);
        if has("primary", "key") {
            self.key = vec![name.clone()];
        } else if words.contains(&"unique") {
            self.unique.push(vec![name.clone()]);
        }
        while !part.is_done() && !part.sees_word("REFERENCES") {
            part.at += 1;
        }
        self.read_parent(part, vec![name.clone()]);
        let is_required = has("not", "null");
        self.columns.push(FoundColumn { name, kind, is_required, is_numbered });
    }

    pub fn is_indexed(&self, column: &str) -> bool {
        let all = std::iter::once(&self.key).chain(&self.unique).chain(&self.indexes);
        all.flatten().any(|name| name == column)
    }

    pub fn is_unique(&self, column: &str) -> bool {
        let all = std::iter::once(&self.key).chain(&self.unique);
        all.flatten().any(|name| name.eq_ignore_ascii_case(column))
    }

    /// What was unique is an index.
    pub fn demote_unique(&mut self) {
        self.indexes.append(&mut self.unique);
    }

    /// A column of the key that refers to nothing, and an expression that gives each row its own value.
    pub fn find_own_key(&self) -> Option<(String, String)> {
        let refers = |name: &String| self.references.iter().any(|it| it.columns.contains(name));
        let own = self.columns.iter().filter(|it| self.key.contains(&it.name) && !refers(&it.name));
        own.clone().find_map(|column| {
            let expression = match &*column.kind {
                kind if kind.contains("INT") || kind.starts_with("NUMERIC") => ":row + 1",
                kind if kind.starts_with("VARCHAR") || kind == "TEXT" => "text(:row)",
                "DATE" => "date('2000-01-01') + :row",
                "TIMESTAMP" => "timestamp('2000-01-01') + :row",
                _ => return None,
            };
            Some((column.name.clone(), expression.to_owned()))
        })
    }

    fn to_text(&self, schema: &FoundSchema) -> String {
        let mut parts = Vec::new();
        let is_only_key = |name: &str| self.key.len() == 1 && self.key[0] == name;
        for column in &self.columns {
            let name = write_name(&column.name);
            let kind = match &*column.kind {
                "INTEGER" | "BIGINT" | "SMALLINT"
                    if column.is_numbered && is_only_key(&column.name) =>
                {
                    parts.push(format!("{name} BIGSERIAL PRIMARY KEY"));
                    continue;
                }
                // Only short texts and bytes can be in an index.
                "TEXT" if self.is_indexed(&column.name) => "VARCHAR(255)",
                "BLOB" if self.is_indexed(&column.name) => "VARBINARY(255)",
                kind => kind,
            };
            let is_key = self.key.contains(&column.name);
            let required = if column.is_required || is_key { " NOT NULL" } else { "" };
            parts.push(format!("{name} {kind}{required}"));
        }
        if !parts.iter().any(|part| part.ends_with("PRIMARY KEY")) {
            parts.push(format!("PRIMARY KEY ({})", write_names(&self.key)));
        }
        let unique = self.unique.iter().filter(|columns| **columns != self.key);
        parts.extend(unique.map(|columns| format!("UNIQUE ({})", write_names(columns))));
        for FoundReference { columns, parent, parent_columns } in &self.references {
            let found = schema.tables.iter().find(|table| table.name == *parent);
            if found.is_some_and(|table| !table.key.is_empty()) {
                let theirs = parent_columns.as_ref().map(|it| format!(" ({})", write_names(it)));
                parts.push(format!(
                    "FOREIGN KEY ({}) REFERENCES {}{}",
                    write_names(columns),
                    write_name(parent),
                    theirs.unwrap_or_default()
                ));
            }
        }
        let name = write_name(&self.name);
        let mut text = format!("CREATE TABLE {name} (\n    {}\n);\n", parts.join(",\n    "));
        for columns in &self.indexes {
            text += &format!("CREATE INDEX ON {name} ({});\n", write_names(columns));
        }
        text
    }
}

/// The type of `schema.sql` for one of another database, and whether that numbers its rows.
fn read_foreign_type(part: &mut TokenCursor<'_, '_>) -> (String, bool) {
    let word = read_type_name(part);
    let varies = part.take_word("VARYING");
    part.take_word("PRECISION");
    let lengths: Vec<u32> = part.take_brackets().map_or_else(Vec::new, |inner| {
        let parts = part.list.split_commas(inner.at, inner.end);
        parts.iter().map(|(from, _)| part.list.token(*from).parse().unwrap_or(255)).collect()
    });
    let first = lengths.first().copied();
    let is_array = part.sees_sign("[") || part.sees_word("ARRAY");
    let text = |most: Option<u32>| match most {
        Some(most) if most <= 16_000 => format!("VARCHAR({})", most.max(1)),
        _ => "TEXT".into(),
    };
    let kind = match &*word {
        _ if is_array => "TEXT".into(),
        "SERIAL" | "BIGSERIAL" | "SMALLSERIAL" | "SERIAL4" | "SERIAL8" => {
            return ("BIGINT".into(), true);
        }
        "TINYINT" if first == Some(1) => "BOOLEAN".into(),
        "TINYINT" | "SMALLINT" | "INT2" => "SMALLINT".into(),
        "MEDIUMINT" | "INT" | "INTEGER" | "INT4" | "YEAR" => "INTEGER".into(),
        "BIGINT" | "INT8" => "BIGINT".into(),
        "BOOLEAN" | "BOOL" => "BOOLEAN".into(),
        "BIT" if first.unwrap_or(1) == 1 && !varies => "BOOLEAN".into(),
        "REAL" | "FLOAT" | "FLOAT4" | "FLOAT8" | "DOUBLE" => "DOUBLE PRECISION".into(),
        "NUMERIC" | "DECIMAL" | "DEC" => match lengths[..] {
            [] => "NUMERIC".into(),
            [digits] if (1..=38).contains(&digits) => format!("NUMERIC({digits}, 0)"),
            [digits, scale] if (1..=38).contains(&digits) && scale <= digits.min(30) => {
                format!("NUMERIC({digits}, {scale})")
            }
            _ => "NUMERIC".into(),
        },
        "VARCHAR" | "NVARCHAR" | "VARCHAR2" => text(first),
        "CHAR" | "CHARACTER" | "NCHAR" | "BPCHAR" if varies => text(first),
        "CHAR" | "CHARACTER" | "NCHAR" | "BPCHAR" => text(first.or(Some(1))),
        "TEXT" | "CLOB" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" | "CITEXT" | "JSON" | "JSONB"
        | "XML" | "HSTORE" | "TSVECTOR" => "TEXT".into(),
        "UUID" => text(Some(36)),
        "DATE" => "DATE".into(),
        "TIMESTAMP" | "DATETIME" | "TIMESTAMPTZ" => "TIMESTAMP".into(),
        "BYTEA" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" | "TINYBLOB" => "BLOB".into(),
        "VARBINARY" | "BINARY" => match first.unwrap_or(1) {
            most @ 1..=255 => format!("VARBINARY({most})"),
            _ => "BLOB".into(),
        },
        "BIT" => "VARBINARY(255)".into(),
        _ => text(Some(255)),
    };
    (kind, false)
}

/// The last part of a type's name, in upper case; empty if there is none.
fn read_type_name(part: &mut TokenCursor<'_, '_>) -> String {
    let mut word = String::new();
    while !part.is_done() && (word.is_empty() || part.take_sign(".")) {
        word = part.peek_upper().trim_matches('"').to_owned();
        part.at += 1;
    }
    word
}
