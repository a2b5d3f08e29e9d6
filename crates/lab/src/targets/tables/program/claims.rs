//! The keys whose durability a program's clients were promised, as they are kept for an audit.
//!
//! A record is nanoseconds of `CLOCK_MONOTONIC` (eight bytes, the lowest first), the length of the
//! key (two bytes), and the key.

use std::collections::BTreeMap;

const HEAD: usize = 10;

/// `at_ns` is when the acknowledgement was read.
pub fn make_record(key: &str, at_ns: u64) -> Vec<u8> {
    let length = u16::try_from(key.len()).expect("a line is shorter");
    [&at_ns.to_le_bytes()[..], &length.to_le_bytes(), key.as_bytes()].concat()
}

/// When each key was acknowledged last, before the power went.
pub fn read_acknowledged(claims: &[Vec<u8>], off_at_ns: u64) -> BTreeMap<String, u64> {
    let mut keys = BTreeMap::new();
    for mut bytes in claims.iter().map(Vec::as_slice) {
        // A record that the process's end cut short is none.
        while let Some((head, rest)) = bytes.split_at_checked(HEAD) {
            let at = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
            let length = u16::from_le_bytes(head[8..].try_into().expect("two bytes"));
            let Some((key, next)) = rest.split_at_checked(length.into()) else { break };
            if at <= off_at_ns {
                let newest = keys.entry(String::from_utf8_lossy(key).into_owned()).or_insert(at);
                *newest = at.max(*newest);
            }
            bytes = next;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_key_the_last_acknowledgement_before_the_cut_counts() {
        let records = [("a", 1), ("b", 5), ("a", 4), ("c", 9)];
        let mut bytes: Vec<u8> =
            records.iter().flat_map(|(key, at)| make_record(key, *at)).collect();
        let found = |bytes: &[u8]| read_acknowledged(&[bytes.to_vec()], 8);
        let wanted = BTreeMap::from([("a".to_owned(), 4), ("b".to_owned(), 5)]);
        assert_eq!(found(&bytes), wanted);
        bytes.truncate(bytes.len() - 1 - 2 * (HEAD + 1));
        assert_eq!(found(&bytes), BTreeMap::from([("a".to_owned(), 1)]));
    }
}
