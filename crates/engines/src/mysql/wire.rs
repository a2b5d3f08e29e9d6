//! Commands over a plain socket, below the library: one write and one read a statement, in buffers
//! that stay.
//!
//! The library connects, logs in and prepares; then a session writes and reads its socket here.
//! Parameters go from the caller into the packet, and cells from the packet into the caller's rows.
//! The library would allocate for each parameter, column definition and cell, and would wait for an
//! answer in a read that is woken in vain (see [`crate::socket`]).
//!
//! The protocol: mariadb.com/kb/en/clientserver-protocol. A packet is a length of three bytes, a
//! number that counts from 0 within a command, and a payload; after a payload of the greatest
//! length the next packet continues it. An answer is OK, an error, or a result: the number of
//! columns, their definitions, an end, rows, an end. The library tells MariaDB 10.6 and later that
//! definitions need not be sent again (MARIADB_CLIENT_CACHE_METADATA): a byte behind their number
//! says whether they follow; else the last ones hold.

use std::io;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use mysql::consts::Command;
use mysql::{Conn, Error as Failure, MySqlError, Statement};

use crate::socket::{Inbox, send_all};
use crate::{Rows, Value};

use super::text_parts::TextParts;
use fields::{FieldType, Fields};

pub(super) mod fields;
#[cfg(test)]
mod tests;

const MOST: usize = 0xff_ffff;
const HEADER: usize = 4;
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const FAILED: u8 = 0xff;
/// Behind the number of columns: no definitions follow.
const AS_BEFORE: u8 = 0x00;
const MORE: u16 = 0x0008;

type Result<T> = std::result::Result<T, Failure>;

/// The answer breaks the protocol; the connection can't be used any more.
fn garbled_answer(what: &'static str) -> Failure {
    let what = format!("the server's answer can't be read: {what}");
    Failure::IoError(io::Error::new(io::ErrorKind::InvalidData, what))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Rows, as the server counts them.
    pub rows: u64,
    pub new_key: Option<u64>,
}

/// How the cells of an answer are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowForm {
    /// The answer to a prepared statement.
    Binary,
    /// The answer to a text.
    Text,
}

#[derive(Debug)]
pub(super) struct MariaDbWire {
    socket: OwnedFd,
    out: Vec<u8>,
    inbox: Inbox,
    sequence: u8,
    statements: Vec<PreparedStatement>,
}

#[derive(Debug)]
struct PreparedStatement {
    id: u32,
    columns: Vec<FieldType>,
}

impl MariaDbWire {
    /// Takes over a connection without TLS and compression on which these statements were prepared.
    pub fn from_connection(connection: &Conn, statements: &[Statement]) -> io::Result<Self> {
        // SAFETY: the connection, which owns the descriptor, is borrowed until it is duplicated.
        let socket = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        let prepared = |statement: &Statement| PreparedStatement {
            id: statement.id(),
            columns: statement.columns().iter().map(FieldType::from_column).collect(),
        };
        Ok(Self::from_socket(
            socket.try_clone_to_owned()?,
            statements.iter().map(prepared).collect(),
        ))
    }

    fn from_socket(socket: OwnedFd, statements: Vec<PreparedStatement>) -> Self {
        Self { socket, out: Vec::new(), inbox: Inbox::new(), sequence: 0, statements }
    }

    pub fn query(&mut self, text: &str) -> Result<()> {
        self.begin(Command::COM_QUERY);
        self.out.extend_from_slice(text.as_bytes());
        self.send()?;
        self.read_answer(RowForm::Text, &mut Vec::new(), Some(0), &mut Rows::new()).map(drop)
    }

    /// Runs a prepared statement, and puts the first `width` columns of each row into `rows`; `None`:
    /// all that the answer has, and `rows` becomes as wide.
    pub fn execute(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: Option<usize>,
        rows: &mut Rows,
    ) -> Result<Changed> {
        self.begin(Command::COM_STMT_EXECUTE);
        self.out.extend_from_slice(&self.statements[number].id.to_le_bytes());
        // No cursor, one execution.
        self.out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            fields::put_parameters(&mut self.out, parameters);
        }
        self.send()?;
        let mut columns = mem::take(&mut self.statements[number].columns);
        let answer = self.read_answer(RowForm::Binary, &mut columns, width, rows);
        self.statements[number].columns = columns;
        answer
    }

    /// Sends a text with its parameters in it, and takes the answer as [`Self::execute`] does.
    pub fn execute_text(
        &mut self,
        text: &TextParts,
        parameters: &[Value<'_>],
        width: Option<usize>,
        rows: &mut Rows,
    ) -> Result<Changed> {
        self.begin(Command::COM_QUERY);
        text.put_text(parameters, &mut self.out)?;
        self.send()?;
        self.read_answer(RowForm::Text, &mut Vec::new(), width, rows)
    }

    fn begin(&mut self, command: Command) {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.push(command as u8);
        self.inbox.clear();
        self.sequence = 0;
    }

    fn next(&mut self) -> u8 {
        let number = self.sequence;
        self.sequence = number.wrapping_add(1);
        number
    }

    fn send(&mut self) -> Result<()> {
        let mut begin = HEADER;
        loop {
            let length = (self.out.len() - begin).min(MOST);
            let number = self.next();
            // Overwrites the end of the packet before, which is sent.
            let header = begin - HEADER;
            self.out[header..begin - 1].copy_from_slice(&length.to_le_bytes()[..HEADER - 1]);
            self.out[begin - 1] = number;
            send_all(&self.socket, &self.out[header..begin + length])?;
            begin += length;
            if length < MOST {
                return Ok(());
            }
        }
    }

    /// The place of the next packet's payload; valid until the packet after it is read.
    fn read_packet(&mut self) -> Result<Range<usize>> {
        let mut whole = 0;
        loop {
            self.inbox.fill_up_to(&self.socket, whole + HEADER)?;
            let header = &self.inbox.unused_bytes()[whole..whole + HEADER];
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let number = header[HEADER - 1];
            if number != self.next() {
                return Err(garbled_answer("its packets are out of order"));
            }
            self.inbox.remove_bytes(whole, HEADER);
            whole += length;
            self.inbox.fill_up_to(&self.socket, whole)?;
            if length < MOST {
                return Ok(self.inbox.use_up(whole));
            }
        }
    }

    fn read_answer(
        &mut self,
        form: RowForm,
        columns: &mut Vec<FieldType>,
        width: Option<usize>,
        rows: &mut Rows,
    ) -> Result<Changed> {
        let packet = self.read_packet()?;
        let mut first = Fields(self.inbox.used_bytes(packet));
        let count = match first.0.first() {
            Some(&OK) => return read_changed(first),
            Some(&FAILED) => return Err(read_refusal(first)),
            _ => first.length()?,
        };
        let is_as_before = first.0.first() == Some(&AS_BEFORE);
        let width = width.unwrap_or_else(|| {
            rows.reset(count as usize);
            count as usize
        });
        if !is_as_before {
            columns.clear();
            for _ in 0..count {
                let packet = self.read_packet()?;
                columns.push(Fields(self.inbox.used_bytes(packet)).read_column()?);
            }
        } else if columns.len() as u64 != count {
            return Err(garbled_answer("the definitions of its columns are missing"));
        }
        let packet = self.read_packet()?;
        if !is_end(self.inbox.used_bytes(packet)) {
            return Err(garbled_answer("the definitions of its columns have no end"));
        }
        // A bad cell is reported when all rows are read: the next answer comes behind them.
        let mut taken = Ok(Changed::default());
        loop {
            let packet = self.read_packet()?;
            let row = Fields(self.inbox.used_bytes(packet));
            match row.0.first() {
                Some(&FAILED) => return Err(read_refusal(row)),
                _ if is_end(row.0) => return read_end(row).and(taken),
                _ if width > 0 && taken.is_ok() => {
                    let cells = match form {
                        RowForm::Binary => row.read_row(columns, width, rows),
                        RowForm::Text => row.read_text_row(columns, width, rows),
                    };
                    taken = cells.map(|()| Changed::default());
                }
                _ => {}
            }
        }
    }
}

/// Whether a packet ends a list: a row may begin with the same byte, but is longer.
fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&END) && packet.len() < 9
}

fn check_no_more_results(state: u16) -> Result<()> {
    if state & MORE == 0 { Ok(()) } else { Err(garbled_answer("a second result follows")) }
}

/// The end of rows: its byte, warnings, the server's state.
fn read_end(mut packet: Fields<'_>) -> Result<()> {
    packet.take_bytes(3)?;
    check_no_more_results(packet.short()?)
}

/// OK: its byte, rows, the last number given, the server's state.
fn read_changed(mut packet: Fields<'_>) -> Result<Changed> {
    packet.take_bytes(1)?;
    let rows = packet.length()?;
    let number = packet.length()?;
    check_no_more_results(packet.short()?)?;
    Ok(Changed { rows, new_key: (number > 0).then_some(number) })
}

/// An error: its byte, its code, a mark and five letters, a message.
fn read_refusal(mut packet: Fields<'_>) -> Failure {
    let mut read = || {
        packet.take_bytes(1)?;
        let code = packet.short()?;
        let mut state = &b"HY000"[..];
        if packet.0.first() == Some(&b'#') {
            packet.take_bytes(1)?;
            state = packet.take_bytes(5)?;
        }
        let [state, message] = [state, packet.0].map(|it| String::from_utf8_lossy(it).into_owned());
        Ok(Failure::MySqlError(MySqlError { state, message, code }))
    };
    read().unwrap_or_else(|failure| failure)
}
