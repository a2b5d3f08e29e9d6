//! Who may set which of a server's settings.
//!
//! Some settings are programs: a command that the server runs, a library that it loads, a port
//! that it opens. Lists that were gone through name those, and the harmless ones whose values are
//! words; what no list names is judged by what its name ends in and by its value. The lists are
//! part of a [kind](crate::Kind).

use std::fmt;

use crate::launch::spelling;

/// Who may have a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingStanding {
    /// Anybody.
    Free,
    /// Who trusts whoever wrote it as much as a program of theirs: what it does.
    Trusted(TrustReason),
    /// Nobody: bakeoff sets it itself.
    Reserved,
}

/// What a setting does that asks for trust; a clause about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustReason {
    /// A command of the system.
    Command,
    /// Code that is loaded.
    Code,
    /// Statements that the server runs for itself.
    Statements,
    /// Files and folders.
    Files,
    /// Connections to and from other machines.
    Network,
    /// Who may come in, and as whom.
    Access,
    /// A value that is neither a number nor a choice, of a setting that nobody has looked at: it may be
    /// a file or a command.
    Value,
    /// A name that sounds like more than a number, of a setting that nobody has looked at.
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

/// What is known of the settings of one kind of server. Names are separated by white space, in the
/// spelling that all settings of the server share; a name that ends in `*` stands for all names that begin
/// so.
pub struct Review {
    /// What bakeoff sets itself, since it relies on it.
    pub reserved: &'static str,
    /// What asks for trust, by what it does.
    pub trusted: &'static [(TrustReason, &'static str)],
    /// What is harmless, whatever its value or however its name ends.
    pub harmless: &'static str,
    /// What the server takes before any name, and drops.
    pub prefixes: &'static [&'static str],
    /// Whether the server takes the beginning of a name for the name.
    pub abbreviates: bool,
}

/// What a name ends in that stands for more than its number. A server that is newer than the lists
/// may have such a setting.
const ENDINGS: &str = "access address addresses auth cmd command conninfo dir directories \
    directory exec file filename host hosts include keyfile libraries library listen network \
    networking networks password path plugin plugins port provider script socket sockets url user";
/// Words that stand for more wherever in a name they are.
const WORDS: &str = "bind init listen plugin preload";

/// How the names of passwords end.
const PASSWORDS: [&str; 3] = ["password", "passwd", "pwd"];

impl Review {
    /// Who may give the server this setting, with this value.
    ///
    /// The name may be written in all the ways that the server takes it in: in capitals, with
    /// dashes, and as its kind has it with a prefix or abbreviated.
    pub fn standing(&self, name: &str, value: &str) -> SettingStanding {
        let names = self.without_prefixes(&spelling(name));
        let is = |list: &str| names.iter().any(|name| self.lists(list, name));
        let free = is(self.harmless);
        // A password is no setting of a private server's, and settings are shown and kept.
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
        if let Some(standing) = self.abbreviated(bare) {
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

    /// Whether the server takes a name as the name of this setting, in whichever way it is written.
    pub fn names(&self, name: &str, setting: &str) -> bool {
        let names = self.without_prefixes(&spelling(name));
        let bare = names.last().expect("the name itself");
        let settings = self.without_prefixes(setting);
        let setting = settings.last().expect("the name itself");
        // A beginning without `_` is the name of something larger: a storage engine.
        bare == setting
            || self.abbreviates && bare.contains('_') && setting.starts_with(bare.as_str())
    }

    /// A name, and what is left of it as its prefixes are dropped.
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

    /// Whether a list names it.
    fn lists(&self, list: &str, name: &str) -> bool {
        list.split_whitespace().any(|listed| match listed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => {
                listed == name || self.without_prefixes(listed).last().is_some_and(|it| it == name)
            }
        })
    }

    /// What a name stands for that is the beginning of a listed one.
    fn abbreviated(&self, name: &str) -> Option<SettingStanding> {
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

/// Whether a value is a number, with or without a unit, or one of two choices.
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

/// Whether a name that nobody has looked at sounds as if its number meant more.
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
            assert!(loose.names(name, "sync_log"), "{name}");
        }
        for name in ["sync", "sync_logs", "my_sync_log"] {
            assert!(!loose.names(name, "sync_log"), "{name}");
        }
        let strict = review(&[], false);
        assert!(strict.names("SYNC_LOG", "sync_log"));
        for name in ["sync_l", "loose_sync_log"] {
            assert!(!strict.names(name, "sync_log"), "{name}");
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
