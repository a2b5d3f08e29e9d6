//! Fairness between engines: settings, the split of a memory limit, and the settings that a user
//! may replace. Each engine's settings are in its own file or folder.

use crate::servers::Review;

use crate::{Durability, OpenTerms};

/// Bytes of every engine's cache if memory is not limited.
pub const UNLIMITED_CACHE: u64 = 256 << 20;

/// A setting that differs from the engine's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, as the engine's users write it.
    pub name: String,
    /// The value, as they write it.
    pub value: String,
    /// Why it is not the default; `None` for a setting of the user.
    pub reason: Option<&'static str>,
}

impl Setting {
    /// A setting with its reason.
    pub fn new(name: &str, value: impl ToString, reason: &'static str) -> Self {
        Self { name: name.into(), value: value.to_string(), reason: Some(reason) }
    }

    /// A setting that gives the durability level. A user can't replace it.
    pub fn for_level(name: &str, value: impl ToString) -> Self {
        Self::new(name, value, DURABILITY)
    }
}

/// The part of a memory limit that an engine takes for its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryShare {
    /// Percent of the limit.
    pub percent: u64,
    /// Bytes that the engine needs besides. At least an eighth of the limit is left for the cache.
    pub leaves: u64,
    /// Whether the engine reads past the page cache, so that this is its only cache.
    pub direct: bool,
    /// Why it is this part.
    pub reason: &'static str,
}

const UNLIMITED: &str = "256 MiB, as each engine's own cache has where memory is not limited";

impl MemoryShare {
    /// This percentage of any limit, for an engine that reads through the page cache.
    pub const fn from_percent(percent: u64, reason: &'static str) -> Self {
        Self { percent, leaves: 0, direct: false, reason }
    }

    /// Why the cache has this size under these terms.
    pub fn explain_size(self, terms: &OpenTerms) -> &'static str {
        terms.memory_bytes.map_or(UNLIMITED, |_| self.reason)
    }

    /// The cache that the setting of that name gives.
    pub fn to_cache(self, setting: &'static str, terms: &OpenTerms) -> EngineCache {
        let Self { direct, .. } = self;
        EngineCache {
            setting,
            bytes: self.cache_bytes(terms),
            direct,
            reason: self.explain_size(terms),
        }
    }

    /// The cache's bytes under these terms.
    pub fn cache_bytes(self, terms: &OpenTerms) -> u64 {
        terms.memory_bytes.map_or(UNLIMITED_CACHE, |limit| {
            let share = limit.saturating_mul(self.percent) / 100;
            share.min(limit.saturating_sub(self.leaves).max(limit / 8))
        })
    }
}

/// An engine's own cache, and the setting that gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCache {
    /// The setting's name.
    pub setting: &'static str,
    /// Bytes by bakeoff's rule; a user's setting replaces them.
    pub bytes: u64,
    /// Whether the engine reads past the page cache.
    pub direct: bool,
    /// Why it has this size.
    pub reason: &'static str,
}

/// The least memory, page cache included, that an engine needs to be opened and to serve: measured,
/// with some room. With less, the kernel kills it or it finds no memory; with this, it works,
/// however slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// MiB before the first client.
    pub engine_mib: u64,
    /// KiB for each client: assumed, since only 4 clients were tried.
    pub client_kib: u64,
}

impl Least {
    /// Bytes for this many clients, in whole MiB.
    pub fn bytes_for_clients(self, clients: usize) -> u64 {
        let clients = (self.client_kib * clients as u64).div_ceil(1024);
        (self.engine_mib + clients) << 20
    }
}

const DURABILITY: &str = "it gives the level";

/// Settings of the user, found by any name that the server takes for them.
pub struct UserSettings<'a> {
    settings: &'a [(String, String)],
    review: &'a Review,
}

impl<'a> UserSettings<'a> {
    /// The settings, and the review of the server that takes them.
    pub fn new(settings: &'a [(String, String)], review: &'a Review) -> Self {
        Self { settings, review }
    }

    /// Those that the server takes for this setting.
    pub fn find_settings(&self, setting: &str) -> impl Iterator<Item = &'a (String, String)> {
        let named = move |(name, _): &&(String, String)| self.review.takes_name(name, setting);
        self.settings.iter().filter(named)
    }

    /// The value that the server takes: of several, the last.
    pub fn last_value(&self, setting: &str) -> Option<&'a str> {
        self.find_settings(setting).last().map(|(_, value)| value.trim())
    }
}

/// The level of a cell that asks for this one. Settings of the user may keep another: the one that they
/// promise then, or else the strongest that is weaker, or the weakest that is stronger. `None` if they
/// keep none. `promises` has what a level's settings promise without the user's, and with them.
pub fn find_kept_level(
    asked: Durability,
    promises: impl Fn(Durability) -> [Option<Durability>; 2],
) -> Option<Durability> {
    let all = Durability::ALL;
    let weaker = all.into_iter().rev().filter(|level| *level < asked);
    let stronger = all.into_iter().filter(|level| *level > asked);
    let [_, promised] = promises(asked);
    let mut candidates = std::iter::once(asked).chain(promised).chain(weaker).chain(stronger);
    candidates.find(|level| keeps_promise(promises(*level)))
}

/// Whether the user's settings leave a promise as it is.
pub fn keeps_promise([own, with]: [Option<Durability>; 2]) -> bool {
    own.is_some() && own == with
}

/// The message for a setting that undoes a durability level: its value, what the level needs, what
/// to do.
pub fn explain_undone_level(
    durability: Durability,
    name: &str,
    value: &str,
    needed: &str,
) -> String {
    format!(
        "with your settings the server has {name}={value}, and durability {} needs {name}={needed}: change \
         the setting, or choose another level by `durability`",
        durability.name()
    )
}

/// Refuses settings of the user that replace those of the durability level.
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

/// The fair settings, replaced by the user's own.
pub fn with_overrides(mut settings: Vec<Setting>, own: &[(String, String)]) -> Vec<Setting> {
    for (name, value) in own {
        settings.retain(|setting| setting.name != *name);
        settings.push(Setting { name: name.clone(), value: value.clone(), reason: None });
    }
    settings
}
