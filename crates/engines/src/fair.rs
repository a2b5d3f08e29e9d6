//! What is fair between engines, and the same for all of them: what a setting is, how a memory limit
//! is shared out, and what settings of the user's own may replace. Each engine's settings, with their
//! reasons, are in its own file or folder.

use bakeoff_servers::Review;

use crate::{Durability, OpenTerms};

/// Bytes of cache that every engine gets where memory is not limited.
pub const UNLIMITED_CACHE: u64 = 256 << 20;

/// A setting that an engine gets and that differs from its own default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as the engine's users write it.
    pub name: String,
    /// Its value, as they write it.
    pub value: String,
    /// Why it is not left at its default; `None` for one of the user's own.
    pub reason: Option<&'static str>,
}

impl Setting {
    /// A setting, with its reason.
    pub fn new(name: &str, value: impl ToString, reason: &'static str) -> Self {
        Self { name: name.into(), value: value.to_string(), reason: Some(reason) }
    }

    /// A setting that gives the level of durability, which no other may take the place of.
    pub fn durable(name: &str, value: impl ToString) -> Self {
        Self::new(name, value, DURABILITY)
    }
}

/// How much of a memory limit an engine takes for caches of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryShare {
    /// Percent of the limit.
    pub percent: u64,
    /// Bytes of the limit that it leaves to what else the engine holds, as long as an eighth of the limit
    /// is left for the cache.
    pub leaves: u64,
    /// Whether the engine reads past the system's page cache, so that this cache is all that it has.
    pub direct: bool,
    /// Why so much of a limit.
    pub reason: &'static str,
}

/// Why a cache is as large as it is where memory is not limited.
const UNLIMITED: &str = "256 MiB, as each engine's own cache has where memory is not limited";

impl MemoryShare {
    /// A share of that percentage, whatever the limit, of an engine that reads through the page cache.
    pub const fn percent(percent: u64, reason: &'static str) -> Self {
        Self { percent, leaves: 0, direct: false, reason }
    }

    /// Why the cache has its bytes under these terms.
    pub fn why(self, terms: &OpenTerms) -> &'static str {
        terms.memory_bytes.map_or(UNLIMITED, |_| self.reason)
    }

    /// The cache that a setting of that name gives under these terms.
    pub fn cache(self, setting: &'static str, terms: &OpenTerms) -> EngineCache {
        let Self { direct, .. } = self;
        EngineCache { setting, bytes: self.bytes(terms), direct, reason: self.why(terms) }
    }

    /// Bytes of cache under these terms.
    pub fn bytes(self, terms: &OpenTerms) -> u64 {
        terms.memory_bytes.map_or(UNLIMITED_CACHE, |limit| {
            let share = limit.saturating_mul(self.percent) / 100;
            share.min(limit.saturating_sub(self.leaves).max(limit / 8))
        })
    }
}

/// The cache that an engine keeps for itself, and the setting that gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCache {
    /// The setting's name.
    pub setting: &'static str,
    /// Its bytes by bakeoff's rule: a setting of the user's own takes its place.
    pub bytes: u64,
    /// Whether the engine reads past the system's page cache, so that this is all that it has.
    pub direct: bool,
    /// Why so much.
    pub reason: &'static str,
}

/// The least memory that an engine needs, page cache included, to be opened and to serve: measured, with
/// room. Below that, the kernel ends it or it finds no memory; at that, it works, however slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// MiB that it needs before its first client.
    pub engine_mib: u64,
    /// KiB that each client needs more: assumed, as no other number of clients than 4 was tried.
    pub client_kib: u64,
}

impl Least {
    /// Bytes that it needs with so many clients: whole MiB.
    pub fn bytes(self, clients: usize) -> u64 {
        let clients = (self.client_kib * clients as u64).div_ceil(1024);
        (self.engine_mib + clients) << 20
    }
}

/// Why a setting is there that gives the level of durability.
const DURABILITY: &str = "it gives the level";

/// Settings of the user's own, found by the names that the server takes for them.
pub struct UserSettings<'a> {
    settings: &'a [(String, String)],
    review: &'a Review,
}

impl<'a> UserSettings<'a> {
    /// These, for a server whose settings were reviewed so.
    pub fn new(settings: &'a [(String, String)], review: &'a Review) -> Self {
        Self { settings, review }
    }

    /// Those that the server takes for this setting, as they are written.
    pub fn find_settings(&self, setting: &str) -> impl Iterator<Item = &'a (String, String)> {
        let named = move |(name, _): &&(String, String)| self.review.names(name, setting);
        self.settings.iter().filter(named)
    }
}

/// What is said of a setting that undoes a level of durability: its value, what the level needs of it, and
/// what to do.
pub fn undone(durability: Durability, name: &str, value: &str, needed: &str) -> String {
    format!(
        "with your settings the server has {name}={value}, and durability {} needs {name}={needed}: change \
         the setting, or choose another level by `durability`",
        durability.name()
    )
}

/// Makes sure that none of the user's own settings takes the place of one that gives the level of
/// durability.
///
/// # Errors
/// Which one does, and what to do.
pub fn keep_level(fair: &[Setting], own: &UserSettings<'_>) -> Result<(), String> {
    let levels = fair.iter().filter(|setting| setting.reason == Some(DURABILITY));
    match levels.flat_map(|level| own.find_settings(&level.name)).next() {
        None => Ok(()),
        Some((name, value)) => Err(format!(
            "your settings have {name}={value}, which the level of durability sets; leave it out, \
             and choose the level by `durability`"
        )),
    }
}

/// The fair settings, and the user's own in their place.
pub fn with_overrides(mut settings: Vec<Setting>, own: &[(String, String)]) -> Vec<Setting> {
    for (name, value) in own {
        settings.retain(|setting| setting.name != *name);
        settings.push(Setting { name: name.clone(), value: value.clone(), reason: None });
    }
    settings
}
