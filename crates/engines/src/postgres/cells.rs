//! Parameters and cells in PostgreSQL's types.
//!
//! What the server's binary form holds as we do is sent in it; any other parameter is sent as text,
//! which the server reads as the type that it wants. Cells come in the same way: those of a type that
//! is not known here come as the server writes them. A bulk load is binary throughout.

use std::fmt::Write as _;

use bytes::{BufMut, BytesMut};
use postgres::types::{Format, FromSql as _, IsNull, ToSql, Type, to_sql_checked};

use super::numeric::{put_numeric, read_numeric};
use crate::calendar::{self, DAYS_TO_2000, TimeText};
use crate::{Value, decimal};

pub(super) type ConversionFailure = Box<dyn std::error::Error + Sync + Send>;

const MICROS_OF_DAY: i64 = 86_400_000_000;

fn is_text(kind: &Type) -> bool {
    matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN)
}

/// Whether cells of such a column are read in their binary form.
pub(super) fn is_binary(kind: &Type) -> bool {
    let is_number = matches!(
        *kind,
        Type::INT2
            | Type::INT4
            | Type::INT8
            | Type::OID
            | Type::FLOAT4
            | Type::FLOAT8
            | Type::NUMERIC
    );
    let is_time = matches!(*kind, Type::DATE | Type::TIMESTAMP | Type::TIMESTAMPTZ);
    is_number || is_time || is_text(kind) || matches!(*kind, Type::BOOL | Type::JSON | Type::BYTEA)
}

pub(super) fn travels_as_text(value: Value<'_>, kind: &Type) -> bool {
    match value {
        Value::Null => false,
        Value::Int(int) => match *kind {
            Type::INT8 | Type::FLOAT4 | Type::FLOAT8 => false,
            Type::INT4 => i32::try_from(int).is_err(),
            Type::INT2 => i16::try_from(int).is_err(),
            Type::BOOL => !matches!(int, 0 | 1),
            _ => true,
        },
        Value::Real(_) => !matches!(*kind, Type::FLOAT4 | Type::FLOAT8),
        Value::Text(_) => !is_text(kind),
        Value::Bytes(_) => false,
    }
}

/// The server would make bytes of a text; SQLite would keep it as a text, which equals no bytes.
fn check_bytes(value: Value<'_>, kind: &Type) -> Result<(), ConversionFailure> {
    let wants_bytes = *kind == Type::BYTEA;
    match value {
        Value::Null => Ok(()),
        Value::Bytes(_) if !wants_bytes => Err(format!("bytes where a {kind} is wanted").into()),
        Value::Text(_) if wants_bytes => Err("a text where bytes are wanted".into()),
        Value::Int(_) | Value::Real(_) if wants_bytes => {
            Err("a number where bytes are wanted".into())
        }
        _ => Ok(()),
    }
}

fn put_float(real: f64, kind: &Type, out: &mut BytesMut) {
    match *kind {
        Type::FLOAT4 => out.put_f32(real as f32),
        _ => out.put_f64(real),
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionFailure> {
        check_bytes(*self, kind)?;
        let as_text = travels_as_text(*self, kind);
        match *self {
            Value::Null => return Ok(IsNull::Yes),
            Value::Int(int) if as_text => write!(out, "{int}")?,
            Value::Int(int) => match *kind {
                Type::INT4 => out.put_i32(int as i32),
                Type::INT2 => out.put_i16(int as i16),
                Type::BOOL => out.put_u8(int as u8),
                Type::FLOAT4 | Type::FLOAT8 => put_float(int as f64, kind, out),
                _ => out.put_i64(int),
            },
            Value::Real(real) if as_text => write!(out, "{}", decimal::RealText(real.get()))?,
            Value::Real(real) => put_float(real.get(), kind, out),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn encode_format(&self, kind: &Type) -> Format {
        if travels_as_text(*self, kind) { Format::Text } else { Format::Binary }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A cell of a bulk load, which fits its column.
#[derive(Debug)]
pub(super) struct CopiedCell<'v>(pub Value<'v>);

impl ToSql for CopiedCell<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionFailure> {
        let misfit = || format!("{:?} for a {kind}", self.0);
        match (self.0, kind) {
            (Value::Int(int), &Type::NUMERIC) => put_numeric(&int.to_string(), out),
            (Value::Real(real), &Type::NUMERIC) => put_numeric(&real.get().to_string(), out),
            (Value::Text(text), &Type::DATE) => {
                let days = calendar::parse_date(text).ok_or_else(misfit)? - DAYS_TO_2000;
                out.put_i32(days.try_into()?);
            }
            (Value::Text(text), &Type::TIMESTAMP) => {
                let micros = calendar::parse_timestamp(text).ok_or_else(misfit)?;
                out.put_i64(micros - DAYS_TO_2000 * MICROS_OF_DAY);
            }
            (value, _) if travels_as_text(value, kind) => return Err(misfit().into()),
            (value, _) => return value.to_sql(kind, out),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A cell of an answer.
#[derive(Debug)]
pub(super) enum AnsweredCell<'a> {
    Value(Value<'a>),
    Time(TimeText),
}

impl<'a> AnsweredCell<'a> {
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Value(value) => *value,
            Self::Time(text) => Value::Text(text.as_str()),
        }
    }

    /// `None`: a null.
    pub fn from_bytes(kind: &Type, raw: Option<&'a [u8]>) -> Result<Self, ConversionFailure> {
        let Some(raw) = raw else { return Ok(Self::Value(Value::Null)) };
        let value = match *kind {
            Type::INT8 => Value::Int(i64::from_sql(kind, raw)?),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Int(i16::from_sql(kind, raw)?.into()),
            Type::OID => Value::Int(u32::from_sql(kind, raw)?.into()),
            Type::BOOL => Value::Int(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::from(f64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::from(decimal::widen_float(f32::from_sql(kind, raw)?)),
            Type::NUMERIC => read_numeric(raw).ok_or("a numeric that can't be read")?,
            Type::DATE | Type::TIMESTAMP | Type::TIMESTAMPTZ => return read_time(kind, raw),
            Type::BYTEA => Value::Bytes(raw),
            _ => Value::Text(std::str::from_utf8(raw)?),
        };
        Ok(Self::Value(value))
    }
}

fn read_time<'a>(kind: &Type, raw: &[u8]) -> Result<AnsweredCell<'a>, ConversionFailure> {
    let text = match *kind {
        Type::DATE => {
            let days = i32::from_be_bytes(raw.try_into()?);
            TimeText::from_days(i64::from(days) + DAYS_TO_2000)
        }
        _ => {
            let micros = i64::from_be_bytes(raw.try_into()?);
            micros.checked_add(DAYS_TO_2000 * MICROS_OF_DAY).and_then(TimeText::from_micros)
        }
    };
    let text = text.ok_or_else(|| format!("a {kind} outside of the years 1 to 9999"))?;
    Ok(AnsweredCell::Time(text))
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::{count_allocations, needs};

    use super::super::POSTGRES;
    use crate::statement::{Action, Statement};
    use crate::{
        Access, Database, Durability, Engine, Error, OpenTerms, Result, Rows, Schema, SqlText,
        Value,
    };

    fn open(texts: &[(&str, usize)]) -> Result<(Box<dyn Database>, tempfile::TempDir)> {
        let folder = tempfile::tempdir().expect("a folder");
        let statement = |(line, (text, parameters)): (u32, &(&str, usize))| {
            let place = format!("it.sql:{line}");
            let text = SqlText {
                sqlite: String::new(),
                mysql: String::new(),
                postgres: (*text).into(),
                place: place.clone(),
                why: "a test".into(),
                writes: false,
                parameters: *parameters,
            };
            Statement { name: place, action: Action::Sql(text) }
        };
        let statements: Vec<_> = (1..).zip(texts).map(statement).collect();
        let terms = OpenTerms::new(Durability::None);
        let database = POSTGRES.open(folder.path(), &terms, &Schema::default(), &statements)?;
        Ok((database, folder))
    }

    #[test]
    fn every_type_is_sent_and_read() {
        if needs(POSTGRES.available()).is_none() {
            return;
        }
        let texts = [
            (
                "SELECT 1::int2, 2::int4, 3::int8, 4::oid, 0.1::float4, 0.1::float8, 2.00::numeric, \
                 12345678901234567890.5::numeric, 'n'::name, 'b'::char(2), '{}'::json, 'u', \
                 true, DATE '0001-01-01', TIMESTAMP '9999-12-31 23:59:59.999999', \
                 TIMESTAMPTZ '2024-02-29 00:00:00+01', NULL::date, '\\x00ff'::bytea",
                0,
            ),
            (
                "SELECT $1::int2, $2::int4, $3::int8, $4::float4, $5::float8, $6::numeric, \
                 $7::bool, $8::date, $9::timestamp, $10::text, $11::varchar, $12::numeric, \
                 $13::float8, $14::interval::text, $15::bytea",
                15,
            ),
            ("SELECT $1::int2", 1),
            ("SELECT DATE 'infinity'", 0),
            ("SELECT $1::bytea, $2::text", 2),
        ];
        let (database, _folder) = open(&texts).expect("a database");
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.run(0, &[], &mut rows).expect("a row");
        let read: [Value<'_>; 18] = [
            1.into(),
            2.into(),
            3.into(),
            4.into(),
            0.1.into(),
            0.1.into(),
            2.into(),
            12_345_678_901_234_567_890.5.into(),
            "n".into(),
            "b ".into(),
            "{}".into(),
            "u".into(),
            1.into(),
            "0001-01-01".into(),
            "9999-12-31 23:59:59.999999".into(),
            "2024-02-28 23:00:00.000000".into(),
            Value::Null,
            Value::Bytes(&[0, 255]),
        ];
        assert_eq!(rows.row(0).collect::<Vec<_>>(), read);
        let sent: [Value<'_>; 15] = [
            (-1).into(),
            (-2).into(),
            i64::MIN.into(),
            0.25.into(),
            1e-300.into(),
            0.1.into(),
            0.into(),
            "2024-02-29".into(),
            "2024-02-29 01:02:03.000004".into(),
            "".into(),
            "日本".into(),
            i64::MAX.into(),
            7.into(),
            "1 day".into(),
            Value::Bytes(&[255, 0, b'\\']),
        ];
        session.run(1, &sent, &mut rows).expect("a row");
        assert_eq!(rows.row(0).collect::<Vec<_>>(), sent);
        let refused = session.run(2, &[100_000.into()], &mut rows).expect_err("too large");
        assert!(refused.to_string().contains("out of range for type smallint"), "{refused}");
        let refused = session.run(3, &[], &mut rows).expect_err("no day");
        assert!(refused.to_string().contains("a date outside of the years 1 to 9999"), "{refused}");
        for (sent, said) in [
            (["a".into(), "a".into()], "a text where bytes are wanted"),
            ([1.into(), "a".into()], "a number where bytes are wanted"),
            ([Value::Null, Value::Bytes(b"a")], "bytes where a text is wanted"),
        ] {
            let refused = session.run(4, &sent, &mut rows).expect_err("another type").to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_session_that_has_run_for_a_while_allocates_nothing() {
        if needs(POSTGRES.available()).is_none() {
            return;
        }
        let text = "SELECT 1.50::numeric, 10000::numeric, 0.1::float4, now(), true, NULL, 'a', \
                    $1::int8, $2::numeric, $3::numeric, $4::text, $5::bytea, $6::date";
        let (database, _folder) = open(&[(text, 6)]).expect("a database");
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        let bytes = Value::Bytes(&[7; 99]);
        let given =
            [1.into(), 12_345_678.into(), 1e-9.into(), "a".into(), bytes, "2024-02-29".into()];
        let mut run = |access| {
            session.begin(access).expect("begin");
            session.run(0, &given, &mut rows).expect("a row");
            session.commit().expect("commit");
        };
        let mut run_often =
            || (0..50).for_each(|number| run([Access::Read, Access::Write][number % 2]));
        run_often();
        let before = count_allocations();
        run_often();
        assert_eq!(count_allocations() - before, 0);
    }

    #[test]
    fn a_type_that_is_not_known_here_is_read_as_the_server_writes_it() {
        if needs(POSTGRES.available()).is_none() {
            return;
        }
        let text = "SELECT interval '1 day' AS later, 7, 'a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid, \
                    ARRAY['a', NULL], pg_sleep(0), $1::uuid, NULL::inet";
        let (database, _folder) = open(&[(text, 1)]).expect("a database");
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        session.run(0, &[uuid.into()], &mut rows).expect("a row");
        let read: Vec<Value<'_>> = rows.row(0).collect();
        let uuid = Value::Text(uuid);
        let wanted =
            ["1 day".into(), 7.into(), uuid, "{a,NULL}".into(), "".into(), uuid, Value::Null];
        assert_eq!(read, wanted);
        let Err(Error::Usage(said)) = open(&[(text, 1), ("SELECT 1 +", 0)]).map(drop) else {
            panic!("opened")
        };
        assert_eq!(said, "it.sql:2: syntax error at end of input");
    }
}
