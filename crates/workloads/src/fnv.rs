//! FNV-1a of 64 bits: shows whether a file changed.

pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Tells contents apart, on every machine alike.
pub fn fingerprint_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    // The lengths tell `a`, `bc` from `ab`, `c`.
    parts
        .into_iter()
        .fold(START, |hash, part| add_to_hash(add_to_hash(hash, &part.len().to_le_bytes()), part))
}

/// From an earlier hash or [`START`].
pub fn add_to_hash(hash: u64, bytes: &[u8]) -> u64 {
    let next = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(hash, next)
}
