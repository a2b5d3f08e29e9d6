//! What a commit promises, and how an engine gives it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a commit promises, from the weakest to the strongest.
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
    /// Every level, from the weakest to the strongest.
    pub const ALL: [Self; 3] = [Self::None, Self::Relaxed, Self::Strict];

    /// The level's name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relaxed => "relaxed",
            Self::Strict => "strict",
        }
    }

    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// How an engine gives one durability level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The level.
    pub durability: Durability,
    /// The engine's settings that give it, as its users write them; `None` when it can't be had.
    pub settings: Option<&'static str>,
    /// What the levels promise by the engine's documentation, in our words, and where it says so. Of a
    /// level that can't be had: why not.
    pub source: &'static str,
    /// How long before a power cut a commit is at most acknowledged that it may take; of
    /// [`Durability::Relaxed`] alone, where `source` says so.
    pub window: Option<Duration>,
    /// How many acknowledged commits a power cut may take at most; of [`Durability::Relaxed`]
    /// alone, where `source` says so.
    pub most_lost: Option<u64>,
    /// What whoever asks for the level has to know before anything runs: a clause that a plan says of it.
    pub remark: Option<&'static str>,
}

impl Promise {
    /// A level that an engine has by these settings, and what `source` says of them.
    pub const fn new(durability: Durability, settings: &'static str, source: &'static str) -> Self {
        let (window, most_lost, remark) = (None, None, None);
        Self { durability, settings: Some(settings), source, window, most_lost, remark }
    }

    /// A level that an engine can't give, and why: a clause that follows "it has no such level:".
    pub const fn lacking(durability: Durability, why: &'static str) -> Self {
        Self { settings: None, ..Self::new(durability, "", why) }
    }

    /// The promise with the time that its source tells of.
    pub const fn within(self, window: Duration) -> Self {
        Self { window: Some(window), ..self }
    }

    /// The promise with what a plan says of it.
    pub const fn remarked(self, remark: &'static str) -> Self {
        Self { remark: Some(remark), ..self }
    }

    /// The promise with the number of commits that its source tells of.
    pub const fn losing_at_most(self, commits: u64) -> Self {
        Self { most_lost: Some(commits), ..self }
    }
}
