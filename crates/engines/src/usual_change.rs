//! Changes of a server's settings that its documentation or its users advise.

use crate::configuration::ServerConfiguration;

/// A setting that people change, and to what.
pub struct UsualChange {
    /// The setting.
    pub setting: &'static str,
    /// The first that is another value than the present one is tried.
    pub tries: &'static [TriedValue],
    /// Bytes of a number without a unit; 1 where it counts no bytes.
    pub unit: f64,
    /// A setting without which this one does nothing: it has to be on.
    pub needs: Option<&'static str>,
    /// What it is hoped to do.
    pub why: &'static str,
    /// Who advises it.
    pub source: &'static str,
}

/// A value that is tried.
pub enum TriedValue {
    /// This word or number.
    Other(&'static str),
    /// This number, where the present one is lower.
    More(&'static str),
    /// This number, where the present one is higher.
    Less(&'static str),
    /// So many hundredths of the memory, where the present one is lower.
    MoreOfMemory(u64),
}

/// A change of one setting of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedChange {
    /// The setting.
    pub setting: String,
    /// As it is now; `None` if nobody knows.
    pub present: Option<String>,
    /// As it would be.
    pub value: String,
    /// What it is hoped to do.
    pub why: String,
    /// Who advises it.
    pub source: String,
}

const MIB: u64 = 1 << 20;

impl UsualChange {
    /// The change of this configuration, on a machine with so much memory; `None` where it would change
    /// nothing.
    pub fn propose(
        &self,
        configuration: &ServerConfiguration,
        memory_bytes: u64,
    ) -> Option<ProposedChange> {
        let is_on = |value: &str| !["", "0", "off"].contains(&&*value.to_ascii_lowercase());
        if self.needs.is_some_and(|needed| !configuration.find_value(needed).is_some_and(is_on)) {
            return None;
        }
        let present = configuration.find_value(self.setting);
        let value =
            self.tries.iter().find_map(|tried| self.try_value(tried, present, memory_bytes));
        Some(ProposedChange {
            setting: self.setting.to_owned(),
            present: present.map(|present| self.show_present(present)),
            value: value?,
            why: self.why.to_owned(),
            source: self.source.to_owned(),
        })
    }

    /// A size in bytes is easier to read in MiB, and MariaDB takes both. Where a number without a unit
    /// is none of bytes, it stays as it is written.
    fn show_present(&self, value: &str) -> String {
        let bytes = value.parse::<u64>().ok().filter(|bytes| *bytes > 0 && bytes % MIB == 0);
        match bytes.filter(|_| self.unit <= 1.0) {
            Some(bytes) => format!("{}M", bytes / MIB),
            None => value.to_owned(),
        }
    }

    fn try_value(&self, tried: &TriedValue, present: Option<&str>, memory: u64) -> Option<String> {
        let now = present.and_then(|present| parse_quantity(present, self.unit));
        let number = |text: &str| parse_quantity(text, self.unit).unwrap_or(0.0);
        let more = |value: f64| now.is_none_or(|now| now < value);
        match tried {
            TriedValue::Other(value) => {
                let is_same = |present: &str| present.eq_ignore_ascii_case(value);
                (!present.is_some_and(is_same)).then(|| (*value).to_owned())
            }
            TriedValue::More(value) => more(number(value)).then(|| (*value).to_owned()),
            TriedValue::Less(value) => {
                now.is_none_or(|now| now > number(value)).then(|| (*value).to_owned())
            }
            TriedValue::MoreOfMemory(percent) => {
                let mib = memory / MIB * percent / 100;
                let value = if self.unit > 1.0 { format!("{mib}MB") } else { format!("{mib}M") };
                // A few more bytes are no change.
                more((mib * MIB) as f64 / 1.2).then_some(value)
            }
        }
    }
}

/// A number in bytes or as it is: `128MB`, `4k`, `1.1`, `200`. `None` for words.
pub fn parse_quantity(text: &str, unit: f64) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !".-".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let factor = match suffix.trim().to_ascii_lowercase().as_str() {
        "" => unit,
        "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => MIB as f64,
        "g" | "gb" => (MIB << 10) as f64,
        "t" | "tb" => (MIB << 20) as f64,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn configure(text: &str) -> ServerConfiguration {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        ServerConfiguration::from_file(file.path()).unwrap()
    }

    fn propose(text: &str) -> Vec<(String, String)> {
        let found = configure(text);
        let changes = found.rules.changes.iter();
        let proposed = changes.filter_map(|change| change.propose(&found, 8 << 30));
        proposed.map(|change| (change.setting, change.value)).collect()
    }

    #[test]
    fn only_what_would_change_something_is_proposed() {
        let has = |all: &[(String, String)], setting: &str, value: &str| {
            all.iter().any(|(name, to)| name == setting && to == value)
        };
        let stock = propose("port = 5432\n");
        assert!(has(&stock, "shared_buffers", "2048MB") && has(&stock, "work_mem", "64MB"));
        assert!(has(&stock, "synchronous_commit", "off"), "its price is told apart");
        let tuned = propose("shared_buffers = 262144\nwork_mem = '1GB'\nrandom_page_cost = 1.0\n");
        for setting in ["shared_buffers", "work_mem", "random_page_cost"] {
            assert!(tuned.iter().all(|(name, _)| name != setting), "{setting}: {tuned:?}");
        }
        let without_log = propose("[mysqld]\nuser = mysql\n");
        assert!(without_log.iter().all(|(name, _)| name != "sync_binlog"), "{without_log:?}");
        let with_log = propose("[mysqld]\nlog-bin\nsync_binlog = 1\n");
        assert!(has(&with_log, "sync_binlog", "0"), "{with_log:?}");
        for all in [&stock, &with_log] {
            assert!(all.len() <= 11, "{all:?}");
        }
    }

    #[test]
    fn quantities_are_read_with_their_units() {
        for (text, unit, expected) in [
            ("128MB", 8192.0, Some(134_217_728.0)),
            ("16384", 8192.0, Some(134_217_728.0)),
            ("4k", 1.0, Some(4096.0)),
            ("1.1", 1.0, Some(1.1)),
            ("-1", 1.0, Some(-1.0)),
            ("on", 1.0, None),
            ("5min", 1.0, None),
        ] {
            assert_eq!(parse_quantity(text, unit), expected, "{text}");
        }
    }
}
