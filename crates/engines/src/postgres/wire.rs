//! Statements over a socket, below the library: one write and one read a statement, in buffers that
//! stay.
//!
//! The library logs in; then a session prepares and runs its statements here. Parameters go from the
//! caller into the message, and cells from the message into the caller's rows. The library would
//! allocate a dozen times a statement, and would wait for an answer in a read that is woken in vain
//! (see [`crate::socket`]).
//!
//! The protocol: postgresql.org/docs/current/protocol-flow.html. A message is a byte that says what it
//! is, a length of four bytes that counts itself, and a body. A request ends in `Sync`, and its answer
//! in one `ReadyForQuery`, whatever failed before it. Columns are asked for in binary form if
//! [`super::cells`] knows their type, and else in text form.

use std::io;
use std::ops::Range;

use bytes::BytesMut;
use postgres::error::SqlState;
use postgres::types::{IsNull, Kind, ToSql as _, Type};
use postgres_protocol::message::backend::{
    COMMAND_COMPLETE_TAG, COPY_IN_RESPONSE_TAG, COPY_OUT_RESPONSE_TAG, DATA_ROW_TAG,
    ERROR_RESPONSE_TAG, NOTICE_RESPONSE_TAG, NOTIFICATION_RESPONSE_TAG, PARAMETER_DESCRIPTION_TAG,
    PARAMETER_STATUS_TAG, READY_FOR_QUERY_TAG, ROW_DESCRIPTION_TAG,
};
use postgres_protocol::message::frontend::{self, BindError};

use super::cells::{AnsweredCell, is_binary, travels_as_text};
use super::error::{ServerRefusal, WireFailure, join_words};
use super::link::PostgresLink;
use crate::socket::Inbox;
use crate::{Rows, Value};

#[cfg(test)]
mod tests;

/// What a message is, and its length.
pub(super) const HEADER: usize = 5;
/// No server sends more at once.
const LONGEST: usize = 1 << 30;
/// A longer request's room is given back.
const KEPT: usize = 1 << 20;
const TEXT: i16 = 0;
const BINARY: i16 = 1;

type Result<T> = std::result::Result<T, WireFailure>;

/// The answer breaks the protocol; the connection can't be used any more.
fn garbled_answer(what: &str) -> io::Error {
    let what = format!("the server's answer can't be read: {what}");
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Of a whole message, by its first bytes.
pub(super) fn message_length(header: &[u8]) -> io::Result<usize> {
    let length = header[1..HEADER].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    match length {
        4..=LONGEST => Ok(1 + length),
        _ => Err(garbled_answer("a message has no length that it could have")),
    }
}

/// How a statement is run.
#[derive(Debug)]
pub(super) enum StatementForm {
    /// By the name that it was prepared under.
    Named(String),
    /// Its text is sent each time, and parsed and planned anew.
    Unnamed(String),
}

/// A statement as the server has described it.
#[derive(Debug)]
pub(super) struct DescribedStatement {
    form: StatementForm,
    parameters: Vec<Type>,
    columns: Vec<Type>,
    /// What columns are asked for in: one for all of them, or one each.
    formats: Vec<i16>,
}

impl DescribedStatement {
    pub fn count_parameters(&self) -> usize {
        self.parameters.len()
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }
}

#[derive(Debug)]
pub(super) struct PostgresWire {
    link: PostgresLink,
    out: BytesMut,
    inbox: Inbox,
}

impl PostgresWire {
    /// Takes over a connection that is logged in, and what came behind the login.
    pub fn new((link, inbox): (PostgresLink, Inbox)) -> Self {
        Self { link, out: BytesMut::new(), inbox }
    }

    pub fn prepare(&mut self, text: &str, form: StatementForm) -> Result<DescribedStatement> {
        let name = match &form {
            StatementForm::Named(name) => name,
            StatementForm::Unnamed(_) => "",
        };
        self.begin();
        frontend::parse(name, text, [], &mut self.out).map_err(to_unfit)?;
        frontend::describe(b'S', name, &mut self.out).map_err(to_unfit)?;
        let (mut parameters, mut columns, mut formats) = (Vec::new(), Vec::new(), Vec::new());
        self.ask(|tag, body| match tag {
            PARAMETER_DESCRIPTION_TAG => body.read_parameters(&mut parameters),
            ROW_DESCRIPTION_TAG => body.read_columns(&mut columns, Some(&mut formats)),
            _ => Ok(()),
        })?;
        if formats.iter().all(|format| *format == BINARY) {
            formats.truncate(1);
        }
        Ok(DescribedStatement { form, parameters, columns, formats })
    }

    /// Puts the first `width` columns of each row into `rows`, and returns the number of rows read or
    /// changed.
    pub fn execute(
        &mut self,
        statement: &mut DescribedStatement,
        parameters: &[Value<'_>],
        width: usize,
        rows: &mut Rows,
    ) -> Result<u64> {
        self.begin();
        let DescribedStatement { form, parameters: types, columns, formats } = statement;
        let out = &mut self.out;
        let name = match form {
            StatementForm::Named(name) => name,
            StatementForm::Unnamed(text) => {
                frontend::parse("", text, types.iter().map(Type::oid), out).map_err(to_unfit)?;
                ""
            }
        };
        put_bind(name, types, parameters, formats, out)?;
        if matches!(form, StatementForm::Unnamed(_)) {
            frontend::describe(b'P', "", out).map_err(to_unfit)?;
        }
        frontend::execute("", 0, out).map_err(to_unfit)?;
        let (mut read, mut told) = (0, 0);
        self.ask(|tag, body| {
            match tag {
                DATA_ROW_TAG => {
                    read += 1;
                    return body.read_row(columns, width, rows);
                }
                COMMAND_COMPLETE_TAG => told = body.read_count(),
                ROW_DESCRIPTION_TAG => return body.read_columns(columns, None),
                COPY_OUT_RESPONSE_TAG => return Err(no_copy()),
                _ => {}
            }
            Ok(())
        })?;
        Ok(if statement.columns.is_empty() { told } else { read })
    }

    fn begin(&mut self) {
        match self.out.capacity() {
            0..=KEPT => self.out.clear(),
            _ => self.out = BytesMut::new(),
        }
    }

    /// Sends the request, and hands each message of the answer on.
    fn ask(&mut self, take: impl FnMut(u8, MessageFields<'_>) -> Result<()>) -> Result<()> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        frontend::sync(&mut self.out);
        match self.link.send_all(&self.out) {
            Ok(()) => self.read_answer(take),
            // A server's last words say more than that it is gone.
            Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => {
                match self.read_answer(take) {
                    Err(WireFailure::Refused(refusal)) => Err(WireFailure::Refused(refusal)),
                    _ => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    fn read_answer(
        &mut self,
        mut take: impl FnMut(u8, MessageFields<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut taken = Ok(());
        loop {
            let (tag, body) = self.read_message()?;
            let body = MessageFields(self.inbox.used_bytes(body));
            let next = match tag {
                READY_FOR_QUERY_TAG => return taken,
                ERROR_RESPONSE_TAG => Err(body.read_refusal()),
                NOTICE_RESPONSE_TAG | NOTIFICATION_RESPONSE_TAG | PARAMETER_STATUS_TAG => Ok(()),
                COPY_IN_RESPONSE_TAG => self.refuse_copy(),
                // A bad cell is reported when all is read: the next answer comes behind it.
                _ if taken.is_ok() => take(tag, body),
                _ => Ok(()),
            };
            match next {
                Ok(()) => {}
                Err(failure) if failure.is_lost() => return Err(failure),
                Err(failure) => taken = Err(failure),
            }
        }
    }

    /// What the next message is, and the place of its body, valid until the message after it is read.
    fn read_message(&mut self) -> Result<(u8, Range<usize>)> {
        self.inbox.fill_up_to(&mut self.link, HEADER)?;
        let header = self.inbox.unused_bytes();
        let tag = header[0];
        if !KNOWN.contains(&tag) {
            return Err(garbled_answer("a message is of no kind that is known").into());
        }
        let length = message_length(header)?;
        self.inbox.fill_up_to(&mut self.link, length)?;
        let message = self.inbox.use_up(length);
        Ok((tag, message.start + HEADER..message.end))
    }

    /// The server waits for rows, and has not taken the request's end for one.
    fn refuse_copy(&mut self) -> Result<()> {
        self.begin();
        frontend::copy_fail("a session sends no rows by COPY", &mut self.out).map_err(to_unfit)?;
        frontend::sync(&mut self.out);
        Ok(self.link.send_all(&self.out)?)
    }
}

/// First letters of all messages that an answer may have.
const KNOWN: &[u8] = b"12CDEGHINSTZAcdnst";

fn no_copy() -> WireFailure {
    WireFailure::Unfit("it answers by COPY, which a session does not read: write a SELECT".into())
}

fn to_unfit(error: io::Error) -> WireFailure {
    WireFailure::Unfit(format!("it can't be sent: {error}"))
}

fn put_bind(
    name: &str,
    types: &[Type],
    parameters: &[Value<'_>],
    formats: &[i16],
    out: &mut BytesMut,
) -> Result<()> {
    let given = || parameters.iter().zip(types);
    let format = |(value, kind): (&Value<'_>, &Type)| match travels_as_text(*value, kind) {
        true => TEXT,
        false => BINARY,
    };
    let put = |(value, kind): (&Value<'_>, &Type), out: &mut BytesMut| {
        Ok(match value.to_sql(kind, out)? {
            IsNull::Yes => postgres_protocol::IsNull::Yes,
            IsNull::No => postgres_protocol::IsNull::No,
        })
    };
    let formats = formats.iter().copied();
    frontend::bind("", name, given().map(format), given(), put, formats, out).map_err(|error| {
        match error {
            BindError::Conversion(error) => WireFailure::Unfit(error.to_string()),
            BindError::Serialization(error) => to_unfit(error),
        }
    })
}

/// A type by its number. Those that a database has made have no name here.
fn find_type(number: u32) -> Type {
    Type::from_oid(number).unwrap_or_else(|| {
        Type::new(format!("type of number {number}"), number, Kind::Simple, String::new())
    })
}

/// The rest of a message's body.
#[derive(Clone, Copy, Debug)]
struct MessageFields<'a>(&'a [u8]);

impl<'a> MessageFields<'a> {
    fn take_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| garbled_answer("a message is too short"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take_bytes(N)?);
        Ok(array)
    }

    fn take_short(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take_array()?))
    }

    /// A text that ends in a zero.
    fn take_text(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = self.take_bytes(end.ok_or_else(|| garbled_answer("a text has no end"))?)?;
        self.take_bytes(1)?;
        Ok(text)
    }

    fn read_parameters(mut self, types: &mut Vec<Type>) -> Result<()> {
        for _ in 0..self.take_short()? {
            types.push(find_type(u32::from_be_bytes(self.take_array()?)));
        }
        Ok(())
    }

    /// What each column is read as, and the form to ask for it in. Each is described by a name, the
    /// column of a table, its type, two lengths, and the form in which it comes, if that is known.
    fn read_columns(
        mut self,
        columns: &mut Vec<Type>,
        mut formats: Option<&mut Vec<i16>>,
    ) -> Result<()> {
        columns.clear();
        for _ in 0..self.take_short()? {
            self.take_text()?;
            self.take_bytes(4 + 2)?;
            let kind = find_type(u32::from_be_bytes(self.take_array()?));
            self.take_bytes(2 + 4)?;
            let format = i16::from_be_bytes(self.take_array()?);
            let is_binary = match &mut formats {
                Some(formats) => {
                    formats.push(if is_binary(&kind) { BINARY } else { TEXT });
                    is_binary(&kind)
                }
                None => format == BINARY,
            };
            columns.push(if is_binary { kind } else { Type::TEXT });
        }
        Ok(())
    }

    /// The first `width` cells of a row: each is a length, -1 for a null, and as many bytes.
    fn read_row(mut self, columns: &[Type], width: usize, rows: &mut Rows) -> Result<()> {
        if usize::from(self.take_short()?) != columns.len() {
            return Err(garbled_answer("a row has another width than was told").into());
        }
        let columns = columns.get(..width).ok_or_else(|| {
            WireFailure::Unfit(format!("{} columns instead of {width}", columns.len()))
        })?;
        for (at, kind) in columns.iter().enumerate() {
            let length = i32::from_be_bytes(self.take_array()?);
            let raw = match usize::try_from(length) {
                Ok(length) => Some(self.take_bytes(length)?),
                Err(_) => None,
            };
            let cell = AnsweredCell::from_bytes(kind, raw).map_err(|error| {
                WireFailure::Unfit(format!("the answer's column {} can't be read: {error}", at + 1))
            })?;
            rows.push(cell.value());
        }
        Ok(())
    }

    /// The number behind what was done, as in `UPDATE 7`.
    fn read_count(mut self) -> u64 {
        let text = self.take_text().ok().and_then(|text| std::str::from_utf8(text).ok());
        text.and_then(|text| text.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
    }

    /// An error: a letter and a text each time.
    fn read_refusal(mut self) -> WireFailure {
        let (mut code, mut ends_session) = (String::new(), false);
        let (mut message, mut detail, mut hint) = (String::new(), None, None);
        loop {
            let (letter, text) = match self.0.first() {
                None | Some(0) => break,
                Some(letter) => (*letter, MessageFields(&self.0[1..]).take_text()),
            };
            let text = match text {
                Ok(text) => text,
                Err(failure) => return failure,
            };
            self.0 = &self.0[text.len() + 2..];
            let text = String::from_utf8_lossy(text).into_owned();
            match letter {
                b'V' => ends_session = matches!(&*text, "FATAL" | "PANIC"),
                b'C' => code = text,
                b'M' => message = text,
                b'D' => detail = Some(text),
                b'H' => hint = Some(text),
                _ => {}
            }
        }
        let what = join_words(&message, [detail.as_deref(), hint.as_deref()]);
        let code = SqlState::from_code(&code);
        WireFailure::Refused(ServerRefusal { code, ends_session, what })
    }
}
