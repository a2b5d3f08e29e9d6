//! Types of columns, as they are written in each dialect.

use bakeoff_engines::schema::Type;

use super::token_list::TokenCursor;

/// Whether a column holds numbers, which can be added.
pub(super) fn is_number(kind: Type) -> bool {
    kind == Type::Int || kind.is_fractional()
}

/// A type and whether the engine numbers its rows, as with `SERIAL`.
pub(super) type ReadType = Result<(Type, bool), String>;

/// Digits and scale of a decimal that names none.
const PLAIN_DECIMAL: Type = Type::Decimal { digits: 38, scale: 10 };

/// Reads a type, and says what to write instead of one that bakeoff doesn't have.
pub(super) fn read_type(cursor: &mut TokenCursor<'_, '_>) -> ReadType {
    let word = cursor.peek_upper();
    cursor.at += usize::from(!cursor.is_done());
    let kind = match word.as_str() {
        "SMALLSERIAL" | "SERIAL" | "BIGSERIAL" | "SERIAL4" | "SERIAL8" => {
            return refuse_array(cursor, (Type::Int, true));
        }
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "INTEGER" | "BIGINT" | "INT2" | "INT4"
        | "INT8" => read_integer(cursor)?,
        "REAL" | "FLOAT" | "FLOAT4" | "FLOAT8" => read_float(cursor),
        "DOUBLE" => {
            cursor.take_word("PRECISION");
            read_float(cursor)
        }
        "NUMERIC" | "DECIMAL" | "DEC" => read_decimal(cursor)?,
        "BOOLEAN" | "BOOL" => Type::Bool,
        "TEXT" | "CLOB" | "MEDIUMTEXT" | "LONGTEXT" | "TINYTEXT" => Type::MediumText,
        "VARCHAR" | "NVARCHAR" | "VARCHAR2" => read_text(cursor)?,
        "CHARACTER" | "CHAR" if cursor.take_word("VARYING") => read_text(cursor)?,
        "BYTEA" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" => read_blob(cursor)?,
        "VARBINARY" | "BINARY" => read_bytes(cursor)?,
        "DATE" => Type::Date,
        "TIMESTAMP" | "DATETIME" => read_time(cursor)?,
        _ => return Err(suggest_type(&word, cursor)),
    };
    if cursor.sees_word("UNSIGNED") || cursor.sees_word("ZEROFILL") {
        let word = cursor.peek_upper();
        return Err(format!(
            "bakeoff has no {word}: leave it out; an integer has 64 bits and a sign"
        ));
    }
    refuse_array(cursor, (kind, false))
}

fn refuse_array(cursor: &TokenCursor<'_, '_>, read: (Type, bool)) -> ReadType {
    match cursor.sees_sign("[") || cursor.sees_word("ARRAY") {
        true => Err("bakeoff has no arrays: make a table of them".into()),
        false => Ok(read),
    }
}

/// What a refused type is replaced by.
fn suggest_type(word: &str, cursor: &mut TokenCursor<'_, '_>) -> String {
    let length = read_lengths(cursor);
    let most = length.ok().flatten().and_then(|lengths| lengths.first().copied()).unwrap_or(1);
    let substitute = match word {
        "" | "," => {
            return "a column needs a type: write INTEGER, VARCHAR(255), TEXT, NUMERIC(10, 2), \
                            DOUBLE PRECISION, BOOLEAN, DATE, TIMESTAMP or BLOB"
                .into();
        }
        "CHAR" | "CHARACTER" | "NCHAR" | "BPCHAR" => {
            format!("write VARCHAR({most}); no spaces are added")
        }
        "ENUM" | "SET" => "write VARCHAR(255), with CHECK if you like".into(),
        "TINYBLOB" => "write VARBINARY(255)".into(),
        "BIT" => "write BOOLEAN for one, VARBINARY(8) for more".into(),
        "UUID" => "write VARCHAR(36)".into(),
        "JSON" | "JSONB" | "XML" => "write TEXT".into(),
        "TIMESTAMPTZ" => "write TIMESTAMP; bakeoff keeps UTC".into(),
        "TIME" | "TIMETZ" => "write INTEGER, in seconds since midnight".into(),
        "INTERVAL" => "write INTEGER, in seconds".into(),
        "YEAR" => "write INTEGER".into(),
        "MONEY" => "write NUMERIC(15, 2)".into(),
        "GEOMETRY" | "GEOGRAPHY" | "POINT" | "POLYGON" => {
            "write two columns of DOUBLE PRECISION for a point".into()
        }
        "CITEXT" | "NAME" | "STRING" => "write VARCHAR(255); texts compare by their bytes".into(),
        "INET" | "CIDR" | "MACADDR" => "write VARCHAR(43)".into(),
        _ => "write INTEGER, VARCHAR(255), TEXT, NUMERIC(10, 2), DOUBLE PRECISION, BOOLEAN, DATE, \
             TIMESTAMP or BLOB"
            .into(),
    };
    format!("bakeoff has no type {word}: {substitute}")
}

/// The numbers in brackets behind a type; none without brackets.
fn read_lengths(cursor: &mut TokenCursor<'_, '_>) -> Result<Option<Vec<u32>>, String> {
    let Some(mut inner) = cursor.take_brackets() else { return Ok(None) };
    let mut numbers = Vec::new();
    loop {
        let number = if inner.is_done() { "" } else { inner.list.token(inner.at) };
        let read = number.parse();
        numbers.push(read.map_err(|_| format!("`({number})` is no length: write a whole number"))?);
        inner.at += 1;
        if !inner.take_sign(",") {
            break;
        }
    }
    match inner.is_done() {
        true => Ok(Some(numbers)),
        false => {
            Err(format!("`{}` is no length: write a whole number", inner.list.token(inner.at)))
        }
    }
}

/// MySQL's display width means nothing, but `TINYINT(1)` is its boolean.
fn read_integer(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    let tiny = cursor.list.is_word(cursor.at - 1, "TINYINT");
    let width = read_lengths(cursor)?;
    Ok(if tiny && width == Some(vec![1]) { Type::Bool } else { Type::Int })
}

fn read_float(cursor: &mut TokenCursor<'_, '_>) -> Type {
    cursor.take_brackets();
    Type::Real
}

fn read_decimal(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    let (digits, scale) = match read_lengths(cursor)?.as_deref() {
        None => return Ok(PLAIN_DECIMAL),
        Some([digits]) => (*digits, 0),
        Some([digits, scale]) => (*digits, *scale),
        Some(_) => return Err("a decimal has two lengths: write NUMERIC(10, 2)".into()),
    };
    if digits == 0 || digits > 38 || scale > digits || scale > 30 {
        return Err(format!(
            "NUMERIC({digits}, {scale}): a decimal has 1 to 38 digits, and up to 30 of them behind \
             the point"
        ));
    }
    Ok(Type::Decimal { digits: digits as u8, scale: scale as u8 })
}

fn read_text(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    match read_lengths(cursor)?.as_deref() {
        None => Ok(Type::MediumText),
        Some([0]) => Err("a text has at least one character: write VARCHAR(255)".into()),
        Some([most]) if *most <= 16_000 => Ok(Type::Text { most: *most }),
        Some([most]) => Err(format!("VARCHAR({most}) is too long: write TEXT above 16,000")),
        Some(_) => Err("a text has one length: write VARCHAR(255)".into()),
    }
}

fn read_blob(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    match read_lengths(cursor)? {
        None => Ok(Type::MEDIUM_BLOB),
        Some(_) => Err("a BLOB has no length here: write VARBINARY(255), or BLOB alone".into()),
    }
}

/// A length is the most; no zeros are added.
fn read_bytes(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    let limit = Type::MOST_INLINE_BYTES;
    match read_lengths(cursor)?.as_deref() {
        Some([most]) if (1..=limit).contains(most) => Ok(Type::Bytes { most: *most }),
        Some([0]) => Err("bytes have a length above 0: write VARBINARY(255)".into()),
        Some([most]) => Err(format!("VARBINARY({most}) is too long: write BLOB above {limit}")),
        _ => Err("bytes have one length: write VARBINARY(255), or BLOB".into()),
    }
}

fn read_time(cursor: &mut TokenCursor<'_, '_>) -> Result<Type, String> {
    read_lengths(cursor)?;
    if cursor.take_words(&["WITH", "TIME", "ZONE"]) {
        return Err(
            "bakeoff has no TIMESTAMP WITH TIME ZONE: write TIMESTAMP; bakeoff keeps UTC".into()
        );
    }
    cursor.take_words(&["WITHOUT", "TIME", "ZONE"]);
    Ok(Type::Timestamp)
}
