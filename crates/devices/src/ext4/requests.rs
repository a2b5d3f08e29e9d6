use crate::device::{DeviceRequest, RequestKind};

pub const MOST: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceRange {
    pub place: u64,
    pub length: u64,
}

/// Sorts pieces by place, joins those that touch, and cuts them into requests.
pub fn merge_into_requests(kind: RequestKind, mut pieces: Vec<DeviceRange>) -> Vec<DeviceRequest> {
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

pub fn flush_request() -> DeviceRequest {
    DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 }
}
