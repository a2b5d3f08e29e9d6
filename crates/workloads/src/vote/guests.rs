//! Who comes to the page.
//!
//! Half of those who come are new and get a session. The others have a cookie: of a session that this
//! client has made, or of one that was there before, where there are any.

use std::collections::VecDeque;

use rand::RngExt;

use super::sessions::{Sessions, write_uuid};
use crate::WorkloadRandom;

/// How many of its own sessions a client remembers: the latest.
const REMEMBERED: usize = 256;

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestKind {
    /// Somebody without a session, who gets one of these bits.
    New(u128),
    /// Somebody whose cookie has the name of a session that is there.
    Known,
    /// Somebody whose cookie has a name that nobody knows.
    Unknown,
}

/// Those who come to one client.
#[derive(Clone, Debug)]
pub struct Guests {
    /// The sessions that were there before.
    there: Sessions,
    /// Whether a session is kept of somebody who is new.
    keeps: bool,
    /// How many more may come who are new; `None` without a limit.
    newcomers: Option<u64>,
    /// The sessions that were made for them.
    own: VecDeque<u128>,
}

impl Guests {
    /// Nobody has come yet; at most so many of them will be new.
    pub fn new(there: Sessions, keeps: bool, newcomers: Option<u64>) -> Self {
        Self { there, keeps, newcomers, own: VecDeque::new() }
    }

    /// Draws who comes next, and puts the name of the session into `uuid`.
    pub fn next(&mut self, random: &mut WorkloadRandom, uuid: &mut String) -> GuestKind {
        let there = self.there;
        let has_any = there.count > 0 || !self.own.is_empty();
        let may_be_new = self.keeps && self.newcomers != Some(0);
        if may_be_new && (!has_any || random.random_range(0..2) == 0) {
            let bits = random.random();
            write_uuid(bits, uuid);
            return GuestKind::New(bits);
        }
        let loaded = there.count > 0 && (self.own.is_empty() || random.random_range(0..2) == 0);
        match (loaded, self.own.len()) {
            (true, _) => {
                let number = random.random_range(0..there.count);
                there.uuid(number, uuid);
                GuestKind::Known
            }
            (false, 0) => {
                write_uuid(random.random(), uuid);
                GuestKind::Unknown
            }
            (false, own) => {
                let at = random.random_range(0..own);
                write_uuid(self.own[at], uuid);
                GuestKind::Known
            }
        }
    }

    /// Somebody who was new has a session of these bits now.
    pub fn came(&mut self, bits: u128) {
        self.newcomers = self.newcomers.map(|left| left.saturating_sub(1));
        if self.own.len() == REMEMBERED {
            self.own.pop_front();
        }
        self.own.push_back(bits);
    }
}
