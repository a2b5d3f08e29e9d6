//! The visitors of the page.
//!
//! Half of the visitors are new and get a session. The others have a cookie: of a session of this
//! client, or of one that was loaded.

use std::collections::VecDeque;

use rand::RngExt;

use super::sessions::{Sessions, write_uuid};
use crate::WorkloadRandom;

/// Of its own sessions, a client remembers the latest.
const REMEMBERED: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestKind {
    New(u128),
    Known,
    Unknown,
}

#[derive(Clone, Debug)]
pub struct GuestPool {
    there: Sessions,
    keeps: bool,
    newcomers: Option<u64>,
    own: VecDeque<u128>,
}

impl GuestPool {
    pub fn new(there: Sessions, keeps: bool, newcomers: Option<u64>) -> Self {
        Self { there, keeps, newcomers, own: VecDeque::new() }
    }

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
                there.write_session_uuid(number, uuid);
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

    pub fn remember_session(&mut self, bits: u128) {
        self.newcomers = self.newcomers.map(|left| left.saturating_sub(1));
        if self.own.len() == REMEMBERED {
            self.own.pop_front();
        }
        self.own.push_back(bits);
    }
}
