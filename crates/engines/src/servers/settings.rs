//! Decides who may make which of a server's settings.
//!
//! Some settings are as powerful as programs: a command that the server runs, a library that it
//! loads, a port that it opens. A kind's lists name those, and harmless ones whose values are
//! words; other settings are judged by the end of their name and by their value.

use std::fmt;

use crate::servers::launch::to_spelling;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingStanding {
    Free,
    /// For users who trust the file's author as much as a program of theirs.
    Trusted(TrustReason),
    /// Nobody: bakeoff sets it itself.
    Reserved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustReason {
    Command,
    Code,
    Statements,
    Files,
    Network,
    Access,
    /// An unreviewed setting whose value is neither a number nor a choice: it may be a file or a
    /// command.
    Value,
    /// An unreviewed setting whose name sounds like more than a number.
    Unknown,
}

impl fmt::Display for TrustReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Command => "has the server run a command",
            Self::Code => "has the server load code",
            Self::Statements => "has the server run statements of its own",
            Self::Files => "has the server read or write files elsewhere",
            Self::Network => "connects the server with other machines",
            Self::Access => "says who may come in, or as whom",
            Self::Value => {
                "has a value that bakeoff can't judge: it is neither a number nor true or false"
            }
            Self::Unknown => {
                "is unknown to bakeoff, and by its name more than a number, true or false"
            }
        })
    }
}

/// The known settings of a kind. Names are separated by white space, in the spelling that all
/// settings share; a name that ends in `*` stands for all that begin so.
pub struct Review {
    /// Set by bakeoff, which relies on them.
    pub reserved: &'static str,
    pub trusted: &'static [(TrustReason, &'static str)],
    /// Harmless, whatever the value or the end of the name.
    pub harmless: &'static str,
    pub prefixes: &'static [&'static str],
    pub abbreviates: bool,
}

/// Ends of names that mean more than a number. A server newer than the lists may have such a
/// setting.
const ENDINGS: &str = "access address addresses auth cmd command conninfo dir directories \
    directory exec file filename host hosts include keyfile libraries library listen network \
    networking networks password path plugin plugins port provider script socket sockets url user";
/// Words that mean more than a number anywhere in a name.
const WORDS: &str = "bind init listen plugin preload";

const PASSWORDS: [&str; 3] = ["password", "passwd", "pwd"];

impl Review {
    /// Decides who may give the server this setting with this value. The name may be written in any
    /// way that the server takes: capitals, dashes, prefixes, abbreviations.
    pub fn find_standing(&self, name: &str, value: &str) -> SettingStanding {
        let names = self.without_prefixes(&to_spelling(name));
        let is = |list: &str| names.iter().any(|name| self.list_has(list, name));
        let free = is(self.harmless);
        // A private server has no password, and settings are shown and kept.
        let is_password = |name: &String| PASSWORDS.iter().any(|end| name.ends_with(end));
        if is(self.reserved) || !free && names.iter().any(is_password) {
            return SettingStanding::Reserved;
        }
        if let Some((why, _)) = self.trusted.iter().find(|(_, list)| is(list)) {
            return SettingStanding::Trusted(*why);
        }
        if free {
            return SettingStanding::Free;
        }
        let bare = names.last().expect("the name itself");
        if let Some(standing) = self.find_abbreviated(bare) {
            return standing;
        }
        if is_suspicious(bare) {
            SettingStanding::Trusted(TrustReason::Unknown)
        } else if is_plain(value) {
            SettingStanding::Free
        } else {
            SettingStanding::Trusted(TrustReason::Value)
        }
    }

    pub fn takes_name(&self, name: &str, setting: &str) -> bool {
        let names = self.without_prefixes(&to_spelling(name));
        let bare = names.last().expect("the name itself");
        let settings = self.without_prefixes(setting);
        let setting = settings.last().expect("the name itself");
        // A beginning without `_` is the name of something larger: a storage engine. One that is a
        // setting's whole name stands for that setting.
        bare == setting
            || self.abbreviates
                && bare.contains('_')
                && setting.starts_with(bare.as_str())
                && !self.is_whole_name(bare)
    }

    fn is_whole_name(&self, name: &str) -> bool {
        let trusted = self.trusted.iter().map(|(_, list)| *list);
        let mut all = trusted.chain([self.reserved, self.harmless]);
        all.any(|list| list.split_whitespace().any(|listed| listed == name))
    }

    fn without_prefixes(&self, name: &str) -> Vec<String> {
        let mut names = vec![name.to_owned()];
        let next = |name: &String| {
            self.prefixes.iter().find_map(|prefix| Some(name.strip_prefix(prefix)?.to_owned()))
        };
        while let Some(shorter) = names.last().and_then(next) {
            names.push(shorter);
        }
        names
    }

    fn list_has(&self, list: &str, name: &str) -> bool {
        list.split_whitespace().any(|listed| match listed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => {
                listed == name || self.without_prefixes(listed).last().is_some_and(|it| it == name)
            }
        })
    }

    fn find_abbreviated(&self, name: &str) -> Option<SettingStanding> {
        let begins = |list: &str| {
            list.split_whitespace().any(|listed| {
                let listed = listed.trim_end_matches('*');
                self.without_prefixes(listed).iter().any(|listed| listed.starts_with(name))
            })
        };
        if !self.abbreviates {
            None
        } else if begins(self.reserved) {
            Some(SettingStanding::Reserved)
        } else {
            let found = self.trusted.iter().find(|(_, list)| begins(list));
            found.map(|(why, _)| SettingStanding::Trusted(*why))
        }
    }
}

fn is_plain(value: &str) -> bool {
    let value = value.trim();
    let choices = ["on", "off", "true", "false", "yes", "no"];
    if choices.iter().any(|choice| value.eq_ignore_ascii_case(choice)) {
        return true;
    }
    let number = value.strip_prefix(['-', '+']).unwrap_or(value);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (number, unit) = number.split_at(end);
    let is_unit = |unit: &str| unit.len() <= 3 && unit.chars().all(|c| c.is_ascii_alphabetic());
    number.starts_with(|c: char| c.is_ascii_digit()) && is_unit(unit.trim_start())
}

fn is_suspicious(name: &str) -> bool {
    let has = |list: &str, word: &str| list.split_whitespace().any(|listed| listed == word);
    let last = name.rsplit(['_', '.']).next().unwrap_or(name);
    has(ENDINGS, last) || name.split(['_', '.']).any(|word| has(WORDS, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_known_by_every_name_that_the_server_takes_for_it() {
        let review = |prefixes, abbreviates| Review {
            reserved: "",
            trusted: &[],
            harmless: "",
            prefixes,
            abbreviates,
        };
        let loose = review(&["loose_", "skip_"], true);
        for name in ["sync_log", "Sync-Log", "loose_sync_log", "loose-skip-sync_log", "sync_l"] {
            assert!(loose.takes_name(name, "sync_log"), "{name}");
        }
        for name in ["sync", "sync_logs", "my_sync_log"] {
            assert!(!loose.takes_name(name, "sync_log"), "{name}");
        }
        let strict = review(&[], false);
        assert!(strict.takes_name("SYNC_LOG", "sync_log"));
        for name in ["sync_l", "loose_sync_log"] {
            assert!(!strict.takes_name(name, "sync_log"), "{name}");
        }
    }

    #[test]
    fn a_number_or_a_choice_is_plain_and_a_word_is_not() {
        for value in ["1", "-1", "1.5", "64M", "128kB", "5 min", "ON", "false", "200ms"] {
            assert!(is_plain(value), "{value}");
        }
        for value in ["", "touch", "/etc", "1;2", "64 M B", "1/2", "ha_rocksdb", ".", "4 apples"] {
            assert!(!is_plain(value), "{value}");
        }
    }
}
