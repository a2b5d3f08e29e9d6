//! Durability levels, and how an engine gives them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a commit promises, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A power cut may lose or break anything.
    None,
    /// A power cut may lose about the last second of commits, and never breaks the rest.
    Relaxed,
    /// No acknowledged commit is ever lost.
    Strict,
}

impl Durability {
    /// All levels, weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Relaxed, Self::Strict];

    /// The level's name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relaxed => "relaxed",
            Self::Strict => "strict",
        }
    }

    /// What a power cut does, after "it".
    pub fn describe_loss(self) -> &'static str {
        match self {
            Self::None => "may lose or break anything at a power cut",
            Self::Relaxed => "may lose up to a second at a power cut",
            Self::Strict => "keeps every commit at a power cut",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The level of a server by URL that is run at what its owner's settings promise.
pub const AS_IS: &str = "as-is";

/// How an engine gives one durability level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The level.
    pub durability: Durability,
    /// The engine's settings that give it, as its users write them; `None` if it can't be had.
    pub settings: Option<&'static str>,
    /// What the engine's documentation promises, in our words, and where. For a level that can't be
    /// had: why not.
    pub source: &'static str,
    /// How long before a power cut a lost commit may have been acknowledged. Only for
    /// [`Durability::Relaxed`], if `source` says so.
    pub window: Option<Duration>,
    /// How many acknowledged commits a power cut may take. Only for [`Durability::Relaxed`], if
    /// `source` says so.
    pub most_lost: Option<u64>,
    /// A clause that a plan says of the level.
    pub remark: Option<&'static str>,
}

impl Promise {
    /// A level that these settings give.
    pub const fn new(durability: Durability, settings: &'static str, source: &'static str) -> Self {
        let (window, most_lost, remark) = (None, None, None);
        Self { durability, settings: Some(settings), source, window, most_lost, remark }
    }

    /// A level that can't be had, and why: a clause that follows "it has no such level:".
    pub const fn lacking(durability: Durability, why: &'static str) -> Self {
        Self { settings: None, ..Self::new(durability, "", why) }
    }

    /// Sets [`Promise::window`].
    pub const fn within(self, window: Duration) -> Self {
        Self { window: Some(window), ..self }
    }

    /// Sets [`Promise::remark`].
    pub const fn with_remark(self, remark: &'static str) -> Self {
        Self { remark: Some(remark), ..self }
    }

    /// Sets [`Promise::most_lost`].
    pub const fn losing_at_most(self, commits: u64) -> Self {
        Self { most_lost: Some(commits), ..self }
    }
}
