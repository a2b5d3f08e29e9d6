//! From places on the device to requests.

use crate::device::{DeviceRequest, RequestKind};

/// The most bytes of one request.
pub const MOST: u64 = 1 << 20;

/// Bytes next to each other on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceRange {
    /// The first byte.
    pub place: u64,
    /// How many there are.
    pub length: u64,
}

/// Sorts pieces by their place, makes one of those that touch, and cuts them into requests.
pub fn requests(kind: RequestKind, mut pieces: Vec<DeviceRange>) -> Vec<DeviceRequest> {
    pieces.sort_unstable();
    pieces.dedup_by(|next, piece| {
        let touches = piece.place + piece.length == next.place;
        if touches {
            piece.length += next.length;
        }
        touches
    });
    let mut requests = Vec::with_capacity(pieces.len());
    for DeviceRange { mut place, mut length } in pieces {
        while length > 0 {
            let now = length.min(MOST);
            requests.push(DeviceRequest { kind, offset: place, length: now, stream: 0 });
            place += now;
            length -= now;
        }
    }
    requests
}

/// A request that makes durable what was written.
pub fn flush() -> DeviceRequest {
    DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 }
}
