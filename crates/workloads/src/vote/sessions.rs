use std::fmt::Write;

use bakeoff_engines::Result;
use rand::RngExt;

use crate::{Take, WorkloadRandom, seed_stream};

const SECOND: i64 = 1_000_000;
/// 2017-01-01, when the first session was seen; clients start on 2017-06-01.
const BEGINNING: i64 = 1_483_228_800 * SECOND;
pub const START: i64 = 1_496_275_200 * SECOND;
const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:53.0) Gecko/20100101 Firefox/53.0",
    "Mozilla/5.0 (X11; Linux x86_64; rv:52.0) Gecko/20100101 Firefox/52.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0.3029.110 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 10_3 like Mac OS X) AppleWebKit/603.1.30 (KHTML, like Gecko) Version/10.0 Mobile/14E277 Safari/602.1",
];
const OF_SESSIONS: u64 = 0x7365_7373_696f_6e73;

#[derive(Clone, Copy, Debug)]
pub struct Sessions {
    pub count: u64,
    pub seed: u64,
}

impl Sessions {
    /// Writes the UUID of session `number`, and returns the generator for the rest of its row.
    /// UUIDs ascend with numbers.
    pub fn write_session_uuid(self, number: u64, uuid: &mut String) -> WorkloadRandom {
        let mut random = seed_stream(self.seed ^ OF_SESSIONS, number);
        let stride = u64::MAX / self.count;
        // The version is within the lowest 16 bits of the upper half: neighbours are further apart.
        let upper = number * stride + random.random_range(0..=stride / 2);
        write_uuid(u128::from(upper) << 64 | u128::from(random.random::<u64>()), uuid);
        random
    }

    pub fn give_rows(self, row: &mut Take<'_>) -> Result<()> {
        let (mut uuid, mut address) = (String::new(), String::new());
        (0..self.count).try_for_each(|number| {
            let mut random = self.write_session_uuid(number, &mut uuid);
            let seen_at = random.random_range(BEGINNING..START);
            let agent = draw_origin(&mut random, &mut address);
            row(&[(&*uuid).into(), seen_at.into(), (&*address).into(), agent.into(), 0.into()])
        })
    }
}

/// Writes a visitor's address and returns the browser.
pub fn draw_origin(random: &mut WorkloadRandom, address: &mut String) -> &'static str {
    address.clear();
    let [_, a, b, c] = random.random::<u32>().to_be_bytes();
    write!(address, "10.{a}.{b}.{c}").expect("a text takes all");
    AGENTS[random.random_range(0..AGENTS.len())]
}

/// UUID version 4 (RFC 9562).
pub fn write_uuid(bits: u128, uuid: &mut String) {
    let bits = bits & !(0xf << 76) | 0x4 << 76;
    let bits = bits & !(0x3 << 62) | 0x2 << 62;
    let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
    let [a, b, c, d, e] = [part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12)];
    uuid.clear();
    write!(uuid, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}").expect("a text takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_the_version_and_the_variant_of_a_random_one() {
        let mut uuid = "before".to_owned();
        for (bits, written) in [
            (0, "00000000-0000-4000-8000-000000000000"),
            (u128::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff"),
            (0x0123_4567_89ab_cdef_0123_4567_89ab_cdef, "01234567-89ab-4def-8123-456789abcdef"),
        ] {
            write_uuid(bits, &mut uuid);
            assert_eq!(uuid, written);
        }
    }

    #[test]
    fn loaded_sessions_are_in_the_order_of_their_keys_and_found_again_by_their_numbers() {
        let sessions = Sessions { count: 1_500_000, seed: 7 };
        let (mut last, mut uuid) = (String::new(), String::new());
        for number in (0..20_000).chain(1_490_000..1_500_000) {
            sessions.write_session_uuid(number, &mut uuid);
            assert!(last < uuid, "session {number}: {last} and then {uuid}");
            last.clone_from(&uuid);
        }
        sessions.write_session_uuid(1_499_999, &mut uuid);
        assert_eq!(last, uuid);
    }
}
