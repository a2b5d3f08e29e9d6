//! Commands over a plain socket, below the library: one write and one read a statement, in buffers that stay.
//!
//! The library connects, proves who it is and prepares; from then on a session writes and reads its socket
//! here. Parameters go from the caller into the packet, and cells from the packet into the caller's rows. The
//! library would allocate for each parameter, definition of a column and cell, and would wait for an answer in
//! a read that is woken in vain (see [`crate::socket`]).
//!
//! The protocol: mariadb.com/kb/en/clientserver-protocol. A packet is a length of three bytes, a number that
//! counts from 0 within a command, and a payload; a payload of the greatest length goes on in the next packet.
//! An answer is OK, an error, or a result: the number of columns, their definitions, an end, rows, an end.
//! The library tells MariaDB from 10.6 on that definitions need not be sent again (MARIADB_CLIENT_CACHE_METADATA):
//! a byte behind their number says whether they follow; else they are those that were sent last.

use std::io;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use mysql::consts::Command;
use mysql::{Conn, Error as Failure, MySqlError, Statement};

use crate::socket::{Inbox, send_all};
use crate::{Rows, Value};

use fields::{FieldType, Fields};

mod fields;
#[cfg(test)]
mod tests;

/// The greatest payload of one packet, in bytes.
const MOST: usize = 0xff_ffff;
/// The bytes before a payload.
const HEADER: usize = 4;
/// The first bytes of answers.
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const FAILED: u8 = 0xff;
/// Behind the number of columns: their definitions do not follow.
const AS_BEFORE: u8 = 0x00;
/// The server's state says by this bit that another result follows.
const MORE: u16 = 0x0008;

type Result<T> = std::result::Result<T, Failure>;

/// An answer that the protocol does not have; the connection can't be used any more.
fn garbled(what: &'static str) -> Failure {
    let what = format!("the server's answer can't be read: {what}");
    Failure::IoError(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// What a statement has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Rows, as the server counts them.
    pub rows: u64,
    /// The number that the server gave to a new row.
    pub new_key: Option<u64>,
}

/// The socket of a connection that nobody else talks on.
#[derive(Debug)]
pub(super) struct MariaDbWire {
    socket: OwnedFd,
    out: Vec<u8>,
    inbox: Inbox,
    /// The number that the next packet has.
    sequence: u8,
    statements: Vec<PreparedStatement>,
}

/// A statement that was prepared on the connection.
#[derive(Debug)]
struct PreparedStatement {
    /// The server's number for it.
    id: u32,
    /// The columns of its result, as they were defined last.
    columns: Vec<FieldType>,
}

impl MariaDbWire {
    /// Takes over the talk of a connection that has neither TLS nor compression, and on which these statements
    /// were prepared.
    pub fn over(connection: &Conn, statements: &[Statement]) -> io::Result<Self> {
        // SAFETY: the connection, which owns the descriptor, is borrowed until it is duplicated.
        let socket = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        let prepared = |statement: &Statement| PreparedStatement {
            id: statement.id(),
            columns: statement.columns().iter().map(FieldType::from_column).collect(),
        };
        Ok(Self::on(socket.try_clone_to_owned()?, statements.iter().map(prepared).collect()))
    }

    fn on(socket: OwnedFd, statements: Vec<PreparedStatement>) -> Self {
        Self { socket, out: Vec::new(), inbox: Inbox::new(), sequence: 0, statements }
    }

    /// Runs a command of plain text that returns no rows.
    pub fn query(&mut self, text: &str) -> Result<()> {
        self.begin(Command::COM_QUERY);
        self.out.extend_from_slice(text.as_bytes());
        self.send()?;
        self.answer(&mut Vec::new(), 0, &mut Rows::new()).map(drop)
    }

    /// Runs a statement, by its place among those that were prepared, and puts the first `width` columns of each
    /// row into `rows`.
    pub fn execute(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: usize,
        rows: &mut Rows,
    ) -> Result<Changed> {
        self.begin(Command::COM_STMT_EXECUTE);
        self.out.extend_from_slice(&self.statements[number].id.to_le_bytes());
        // Without a cursor, once.
        self.out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            fields::put(&mut self.out, parameters);
        }
        self.send()?;
        let mut columns = mem::take(&mut self.statements[number].columns);
        let answer = self.answer(&mut columns, width, rows);
        self.statements[number].columns = columns;
        answer
    }

    fn begin(&mut self, command: Command) {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.push(command as u8);
        self.inbox.clear();
        self.sequence = 0;
    }

    /// The number of the next packet.
    fn next(&mut self) -> u8 {
        let number = self.sequence;
        self.sequence = number.wrapping_add(1);
        number
    }

    /// Sends what is behind the room for a header, in as many packets as it takes.
    fn send(&mut self) -> Result<()> {
        let mut begin = HEADER;
        loop {
            let length = (self.out.len() - begin).min(MOST);
            let number = self.next();
            // Over the end of the packet before, which is sent.
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

    /// Where the payload of the next packet is, until the one after it is read.
    fn packet(&mut self) -> Result<Range<usize>> {
        let mut whole = 0;
        loop {
            self.inbox.fill(&self.socket, whole + HEADER)?;
            let header = &self.inbox.held()[whole..whole + HEADER];
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let number = header[HEADER - 1];
            if number != self.next() {
                return Err(garbled("its packets are out of order"));
            }
            self.inbox.cut(whole, HEADER);
            whole += length;
            self.inbox.fill(&self.socket, whole)?;
            if length < MOST {
                return Ok(self.inbox.take(whole));
            }
        }
    }

    /// Reads an answer to its end, whatever it is. `columns` are those that were defined last.
    fn answer(
        &mut self,
        columns: &mut Vec<FieldType>,
        width: usize,
        rows: &mut Rows,
    ) -> Result<Changed> {
        let packet = self.packet()?;
        let mut first = Fields(self.inbox.taken(packet));
        let count = match first.0.first() {
            Some(&OK) => return changed(first),
            Some(&FAILED) => return Err(refusal(first)),
            _ => first.length()?,
        };
        if first.0.first() != Some(&AS_BEFORE) {
            columns.clear();
            for _ in 0..count {
                let packet = self.packet()?;
                columns.push(Fields(self.inbox.taken(packet)).column()?);
            }
        } else if columns.len() as u64 != count {
            return Err(garbled("the definitions of its columns are missing"));
        }
        let packet = self.packet()?;
        if !is_end(self.inbox.taken(packet)) {
            return Err(garbled("the definitions of its columns have no end"));
        }
        // What is wrong with a cell is told when all rows are read: the next answer comes behind them.
        let mut taken = Ok(Changed::default());
        loop {
            let packet = self.packet()?;
            let row = Fields(self.inbox.taken(packet));
            match row.0.first() {
                Some(&FAILED) => return Err(refusal(row)),
                _ if is_end(row.0) => return end(row).and(taken),
                _ if width > 0 && taken.is_ok() => {
                    let cells = row.row(columns, width, rows);
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

/// The state of the server: nothing may follow.
fn alone(state: u16) -> Result<()> {
    if state & MORE == 0 { Ok(()) } else { Err(garbled("a second result follows")) }
}

/// The end of rows: its byte, warnings, the server's state.
fn end(mut packet: Fields<'_>) -> Result<()> {
    packet.bytes(3)?;
    alone(packet.short()?)
}

/// What an OK says: its byte, rows, the last number given, the server's state.
fn changed(mut packet: Fields<'_>) -> Result<Changed> {
    packet.bytes(1)?;
    let rows = packet.length()?;
    let number = packet.length()?;
    alone(packet.short()?)?;
    Ok(Changed { rows, new_key: (number > 0).then_some(number) })
}

/// What an error says: its byte, its code, a mark and five letters, a message.
fn refusal(mut packet: Fields<'_>) -> Failure {
    let mut read = || {
        packet.bytes(1)?;
        let code = packet.short()?;
        let mut state = &b"HY000"[..];
        if packet.0.first() == Some(&b'#') {
            packet.bytes(1)?;
            state = packet.bytes(5)?;
        }
        let [state, message] = [state, packet.0].map(|it| String::from_utf8_lossy(it).into_owned());
        Ok(Failure::MySqlError(MySqlError { state, message, code }))
    };
    read().unwrap_or_else(|failure| failure)
}
