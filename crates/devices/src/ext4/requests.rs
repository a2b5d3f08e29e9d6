//! From places on the device to requests.

use crate::device::{Kind, Request};

/// The most bytes of one request.
pub const MOST: u64 = 1 << 20;

/// Bytes next to each other on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The first byte.
    pub place: u64,
    /// How many there are.
    pub length: u64,
}

/// Sorts pieces by their place, makes one of those that touch, and cuts them into requests.
pub fn requests(kind: Kind, mut pieces: Vec<Piece>) -> Vec<Request> {
    pieces.sort_unstable();
    pieces.dedup_by(|next, piece| {
        let touches = piece.place + piece.length == next.place;
        if touches {
            piece.length += next.length;
        }
        touches
    });
    let mut requests = Vec::with_capacity(pieces.len());
    for Piece { mut place, mut length } in pieces {
        while length > 0 {
            let now = length.min(MOST);
            requests.push(Request { kind, offset: place, length: now, stream: 0 });
            place += now;
            length -= now;
        }
    }
    requests
}

/// A request that makes durable what was written.
pub fn flush() -> Request {
    Request { kind: Kind::Flush, offset: 0, length: 0, stream: 0 }
}
