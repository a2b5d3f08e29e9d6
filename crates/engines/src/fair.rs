//! What is fair between engines, in one readable place: the share of a memory limit that each
//! engine takes for caches of its own, and every other setting that differs from its default.

use crate::Terms;

/// Bytes of cache that every engine gets where memory is not limited.
pub const UNLIMITED_CACHE: u64 = 256 << 20;

/// A setting that an engine gets and that differs from its own default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as the engine's users write it.
    pub name: String,
    /// Its value, as they write it.
    pub value: String,
    /// Why it is not left at its default.
    pub reason: &'static str,
}

impl Setting {
    /// A setting, with its reason.
    pub fn new(name: &str, value: impl ToString, reason: &'static str) -> Self {
        Self { name: name.into(), value: value.to_string(), reason }
    }
}

/// How much of a memory limit an engine takes for caches of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Percent of the limit.
    pub percent: u64,
    /// Why so much.
    pub reason: &'static str,
}

/// SQLite's page cache, all connections together.
pub const SQLITE: Share =
    Share { percent: 25, reason: "it reads through the system's page cache, which has the rest" };
/// fjall's block cache.
pub const FJALL: Share =
    Share { percent: 25, reason: "it reads through the system's page cache, which has the rest" };

impl Share {
    /// Bytes of cache under these terms.
    pub fn bytes(self, terms: &Terms) -> u64 {
        terms.memory_bytes.map_or(UNLIMITED_CACHE, |limit| limit.saturating_mul(self.percent) / 100)
    }
}
