//! A blocking client of Tarantool's binary protocol: one write and one read a request.
//!
//! The protocol: tarantool.io/en/doc/2.6/dev_guide/internals/box_protocol. A server greets with 128
//! bytes, the second half of which is a salt; then packets go both ways, each a length, a header
//! and a body in MessagePack. A request begins with bytes that are always the same ([`RequestPrefix`]):
//! they are built once, and its length and number are patched in.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmp::decode;
use sha1::{Digest, Sha1};

use super::failure::{Result, TarantoolFailure};
use super::pack::{MessagePackReader, put_array, put_int, put_text};
use crate::socket::{Inbox, send_all};

const SELECT: u8 = 0x01;
const AUTHENTICATE: u8 = 0x07;
const CALL: u8 = 0x0a;
const SPACE: u8 = 0x10;
const INDEX: u8 = 0x11;
const LIMIT: u8 = 0x12;
const OFFSET: u8 = 0x13;
const ITERATOR: u8 = 0x14;
const KEY: u8 = 0x20;
const TUPLE: u8 = 0x21;
const FUNCTION: u8 = 0x22;
const USER: u8 = 0x23;
const DATA: u64 = 0x30;
const ERROR: u64 = 0x31;
/// The header key of the answered request's number.
const NUMBER: u64 = 0x01;
/// The header key of an answer's kind: 0, or this and the number of an error.
const KIND: u64 = 0x00;
const FAILED: u64 = 0x8000;

/// The place of a request's length, after the byte that marks it as one of four bytes, and of its
/// number.
const LENGTH_AT: usize = 1;
const NUMBER_AT: usize = 10;
const PREFIX: usize = 5;
const FOUR_BYTES: u8 = 0xce;

/// The greeting is two lines of this length. The first begins with the server's name, the second
/// with the salt.
const LINE: usize = 64;
pub(super) const GREETING: usize = 2 * LINE;
pub(super) const NAME: &[u8] = b"Tarantool ";
const SALT: usize = 44;
const SCRAMBLE: usize = 20;

#[derive(Clone, Debug)]
pub(super) struct RequestPrefix(Vec<u8>);

impl RequestPrefix {
    fn new(kind: u8, parts: u8) -> Self {
        let mut bytes = vec![FOUR_BYTES, 0, 0, 0, 0, 0x82, 0x00, kind, 0x01, 0xcf];
        bytes.extend_from_slice(&[0; 8]);
        bytes.push(0x80 | parts);
        Self(bytes)
    }

    /// Calls a stored function. An array of arguments follows.
    pub fn call(function: &str) -> Self {
        let mut request = Self::new(CALL, 2);
        request.0.push(FUNCTION);
        put_text(&mut request.0, function.as_bytes());
        request.0.push(TUPLE);
        request
    }

    /// Finds the tuple of a whole primary key. The key follows as an array.
    pub fn find(space: u32) -> Self {
        let mut request = Self::new(SELECT, 6);
        for (key, value) in [(SPACE, space), (INDEX, 0), (LIMIT, 1), (OFFSET, 0), (ITERATOR, 0)] {
            request.0.push(key);
            put_int(&mut request.0, value.into());
        }
        request.0.push(KEY);
        request
    }

    fn authenticate(user: &str, scramble: &[u8; SCRAMBLE]) -> Self {
        let mut request = Self::new(AUTHENTICATE, 2);
        request.0.push(USER);
        put_text(&mut request.0, user.as_bytes());
        request.0.push(TUPLE);
        put_array(&mut request.0, 2);
        put_text(&mut request.0, b"chap-sha1");
        put_text(&mut request.0, scramble);
        request
    }
}

#[derive(Debug)]
pub(super) struct TarantoolConnection {
    stream: UnixStream,
    number: u64,
    out: Vec<u8>,
    inbox: Inbox,
    /// Answers that no caller waits for.
    unawaited: u32,
}

impl TarantoolConnection {
    /// Logs in by chap-sha1, so that the password does not travel.
    pub fn connect(socket: &Path, user: &str, password: &str) -> Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        let mut greeting = [0; GREETING];
        stream.read_exact(&mut greeting)?;
        let scramble = scramble_password(&greeting, password)?;
        let (out, inbox) = (Vec::new(), Inbox::new());
        let mut client = Self { stream, number: 0, out, inbox, unawaited: 0 };
        client.ask(&RequestPrefix::authenticate(user, &scramble), |_| ())?;
        Ok(client)
    }

    pub fn ask(
        &mut self,
        request: &RequestPrefix,
        put: impl FnOnce(&mut Vec<u8>),
    ) -> Result<MessagePackReader<'_>> {
        self.send_request(request, put)?;
        while self.unawaited > 0 {
            let number = self.number - u64::from(self.unawaited);
            self.unawaited -= 1;
            match self.receive_answer(number) {
                Ok(_) | Err(TarantoolFailure::Refused { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.receive_answer(self.number)
    }

    pub fn tell(&mut self, request: &RequestPrefix, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.send_request(request, put)?;
        self.unawaited += 1;
        Ok(())
    }

    fn send_request(
        &mut self,
        request: &RequestPrefix,
        put: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        self.number += 1;
        let out = &mut self.out;
        out.clear();
        out.extend_from_slice(&request.0);
        put(out);
        out[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&self.number.to_be_bytes());
        let length = u32::try_from(out.len() - PREFIX).map_err(|_| {
            TarantoolFailure::Lost(io::Error::other("a request of more than 4 GiB can't be sent"))
        })?;
        out[LENGTH_AT..PREFIX].copy_from_slice(&length.to_be_bytes());
        Ok(send_all(&self.stream, out)?)
    }

    /// It has to be the next answer.
    fn receive_answer(&mut self, number: u64) -> Result<MessagePackReader<'_>> {
        self.inbox.fill_up_to(&self.stream, PREFIX)?;
        let mut length = self.inbox.unused_bytes();
        let length: usize =
            decode::read_int(&mut length).map_err(|_| TarantoolFailure::Garbled("its length"))?;
        // A server always writes lengths of four bytes.
        self.inbox.remove_bytes(0, PREFIX);
        self.inbox.fill_up_to(&self.stream, length)?;
        let packet = self.inbox.use_up(length);
        parse_answer(self.inbox.used_bytes(packet), number)
    }
}

/// The proof that a client knows the password: sha1(password) xor sha1(salt, sha1(sha1(password))).
fn scramble_password(greeting: &[u8; GREETING], password: &str) -> Result<[u8; SCRAMBLE]> {
    if !greeting.starts_with(NAME) {
        return Err(TarantoolFailure::Garbled("it does not greet as Tarantool does"));
    }
    let salt = STANDARD.decode(&greeting[LINE..LINE + SALT]);
    let salt = salt.map_err(|_| TarantoolFailure::Garbled("the salt of its greeting"))?;
    let once = Sha1::digest(password);
    let mixed = Sha1::new().chain_update(&salt[..SCRAMBLE]).chain_update(Sha1::digest(once));
    let mixed = mixed.finalize();
    Ok(std::array::from_fn(|at| once[at] ^ mixed[at]))
}

fn parse_answer(packet: &[u8], number: u64) -> Result<MessagePackReader<'_>> {
    let mut rest = MessagePackReader(packet);
    let (mut kind, mut answered) = (0, number);
    for _ in 0..rest.take_map()? {
        match rest.take_int()? {
            KIND => kind = rest.take_int()?,
            NUMBER => answered = rest.take_int()?,
            _ => rest.skip_value()?,
        }
    }
    if answered != number {
        return Err(TarantoolFailure::Garbled("it is another request's"));
    }
    let mut message = String::new();
    let mut data = MessagePackReader(&[0x90]);
    let parts = if rest.0.is_empty() { 0 } else { rest.take_map()? };
    for _ in 0..parts {
        match rest.take_int()? {
            DATA => {
                data = MessagePackReader(rest.0);
                rest.skip_value()?;
            }
            ERROR => message = String::from_utf8_lossy(rest.take_text()?).into_owned(),
            _ => rest.skip_value()?,
        }
    }
    if kind & FAILED != 0 {
        return Err(TarantoolFailure::Refused { code: kind - FAILED, message });
    }
    Ok(data)
}

#[cfg(test)]
mod tests;
