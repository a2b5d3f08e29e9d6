//! How a server that is in use is configured, and the settings with which a private server stands for
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::reader::open_reader;
use crate::servers::SettingStanding;
use crate::usual_change::UsualChange;
use crate::{Durability, Engine, OpenTerms, mysql, postgres};

/// The twin's value of a setting, by the server's.
pub type ValueReplacement = fn(&str) -> Option<String>;

/// What bakeoff knows of the configuration of one kind of server.
pub struct ConfigurationRules {
    /// The private engine that stands for such a server.
    pub engine: &'static str,
    /// Settings that a private server does not take over, since bakeoff's own trials need another value
    /// or nobody waits for them. `*` ends the beginning of a name.
    pub kept_out: &'static [&'static str],
    /// Settings that are taken over with another value than the server has, or not at all.
    pub replaced: &'static [(&'static str, ValueReplacement)],
    /// The server's own defaults of what bakeoff would set otherwise.
    pub stock: &'static [(&'static str, &'static str)],
    /// The sections of a configuration file that the server reads; empty where it has none.
    pub sections: &'static [&'static str],
    /// The changes that are usual.
    pub changes: &'static [UsualChange],
}

static ALL_RULES: [&ConfigurationRules; 2] =
    [&mysql::configuration::RULES, &postgres::configuration::RULES];

/// The settings of a server, as it told them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedSettings {
    /// The server's version.
    pub version: String,
    /// Name in small letters, value, and whether somebody has set it.
    pub values: Vec<(String, String, bool)>,
}

/// The configuration of a server that is in use.
pub struct ServerConfiguration {
    /// What is known of such servers.
    pub rules: &'static ConfigurationRules,
    /// The URL without its password, or the file.
    pub name: String,
    /// `None` from a file.
    pub version: Option<String>,
    /// Of all tables, on the server's disk; `None` from a file.
    pub data_bytes: Option<u64>,
    /// Lines of the file that name other files, which are not read.
    pub unread: Vec<String>,
    values: BTreeMap<String, String>,
    changed: BTreeSet<String>,
}

/// The settings of the private server that stands for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwinSettings {
    /// By name.
    pub settings: Vec<(String, String)>,
    /// Names of settings that somebody has set, and that a private server can't be given.
    pub left_out: Vec<String>,
}

impl ServerConfiguration {
    /// Asks the server of a URL; changes nothing there.
    ///
    /// # Errors
    ///
    /// The URL is wrong, the server refuses the session, or bakeoff has no private server like it.
    pub fn from_server(url: &str) -> Result<Self, String> {
        let mut reader = open_reader(url)?;
        let storage = url.rsplit_once('#').map_or("innodb", |(_, storage)| storage);
        let is_mysql = url.starts_with("mysql") || url.starts_with("mariadb");
        if is_mysql && !storage.eq_ignore_ascii_case("innodb") {
            return Err(format!(
                "no change is known that is usual for {storage}: leave #{storage} out"
            ));
        }
        let rules = if is_mysql { ALL_RULES[0] } else { ALL_RULES[1] };
        let reported = reader.read_settings()?;
        let data_bytes = reader.estimate_tables()?.iter().map(|table| table.bytes).sum();
        let set = reported.values.iter().filter(|(_, _, changed)| *changed);
        Ok(Self {
            rules,
            name: reader.name().to_owned(),
            version: Some(reported.version),
            data_bytes: Some(data_bytes),
            unread: Vec::new(),
            changed: set.map(|(name, _, _)| name.clone()).collect(),
            values: reported.values.into_iter().map(|(name, value, _)| (name, value)).collect(),
        })
    }

    /// Reads `my.cnf` or `postgresql.conf`, told apart by a section like `[mysqld]`.
    ///
    /// # Errors
    ///
    /// The file can't be read, or holds a line that is no setting, with its number.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| format!("{name} can't be read: {error}"))?;
        Self::from_text(name, &text)
    }

    fn from_text(name: String, text: &str) -> Result<Self, String> {
        let has_sections = text.lines().any(|line| find_section(line).is_some());
        let rules = if has_sections { ALL_RULES[0] } else { ALL_RULES[1] };
        let (mut values, mut unread, mut is_read) = (BTreeMap::new(), Vec::new(), !has_sections);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(section) = find_section(line) {
                is_read = rules.sections.contains(&section);
            } else if line.starts_with('!') || line.starts_with("include") {
                unread.push(line.to_owned());
            } else if is_read && !line.is_empty() && !line.starts_with(['#', ';']) {
                let (setting, value) = read_line(line, has_sections)
                    .map_err(|why| format!("{name}:{}: {why}: `{line}`", number + 1))?;
                values.insert(setting, value);
            }
        }
        if values.is_empty() {
            return Err(format!(
                "{name} sets nothing that a server reads: name my.cnf with its section [mysqld], or \
                 postgresql.conf"
            ));
        }
        let changed = values.keys().cloned().collect();
        Ok(Self { rules, name, version: None, data_bytes: None, unread, values, changed })
    }

    /// The value of a setting: as it was told, else the server's default; `None` if nobody knows.
    pub fn find_value(&self, setting: &str) -> Option<&str> {
        let stock = || self.rules.stock.iter().find(|(name, _)| *name == setting);
        let told = self.values.get(setting).map(String::as_str);
        told.or_else(|| stock().map(|(_, value)| *value))
    }

    /// What a private server needs so that it works as this one does: what somebody has set, and what
    /// bakeoff would set otherwise.
    pub fn find_twin(&self, engine: &dyn Engine) -> TwinSettings {
        let mut names = self.changed.clone();
        for durability in Durability::ALL {
            let fair = engine.settings(&OpenTerms::new(durability));
            names.extend(fair.into_iter().map(|setting| {
                setting.name.strip_prefix("loose_").map_or(setting.name.clone(), str::to_owned)
            }));
        }
        names.extend(self.rules.replaced.iter().map(|(name, _)| (*name).to_owned()));
        names.extend(self.rules.stock.iter().map(|(name, _)| (*name).to_owned()));
        let mut twin = TwinSettings { settings: Vec::new(), left_out: Vec::new() };
        for name in names {
            let Some(value) = self.find_value(&name) else { continue };
            let replaced = self.rules.replaced.iter().find(|(replaced, _)| *replaced == name);
            if let Some((_, replace)) = replaced {
                twin.settings.extend(replace(value).map(|value| (name, value)));
                continue;
            }
            let is_kept_out = self.rules.kept_out.iter().any(|kept_out| {
                let beginning = kept_out.strip_suffix('*');
                beginning.map_or(name == *kept_out, |beginning| name.starts_with(beginning))
            });
            if is_kept_out {
                continue;
            }
            match engine.standing(&name, value) {
                SettingStanding::Free => twin.settings.push((name.clone(), value.to_owned())),
                SettingStanding::Trusted(_) | SettingStanding::Reserved if value.is_empty() => {}
                SettingStanding::Trusted(_) => twin.left_out.push(name),
                SettingStanding::Reserved => {}
            }
        }
        twin
    }
}

fn find_section(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.split(']').next().map(str::trim)
}

/// A setting's name in small letters, with its value. In a file with sections, a name alone is on.
fn read_line(line: &str, has_sections: bool) -> Result<(String, String), &'static str> {
    let is_end = |c: char| c == '=' || c.is_whitespace();
    let (name, rest) = line.split_at(line.find(is_end).unwrap_or(line.len()));
    let name = name.to_ascii_lowercase().replace('-', "_");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("no setting");
    }
    let value = rest.trim_start().strip_prefix('=').unwrap_or(rest).trim();
    let value = match value.strip_prefix(['\'', '"']) {
        Some(quoted) => {
            let quote = value.chars().next().unwrap_or('\'');
            quoted.split_once(quote).ok_or("a quote is not closed")?.0
        }
        None => value.split(['#']).next().unwrap_or_default().trim(),
    };
    match (value.is_empty(), has_sections) {
        (true, true) if !line.contains('=') => Ok((name, "ON".into())),
        (true, false) if !line.contains('=') => Err("it has no value"),
        _ => Ok((name, value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_level;

    #[test]
    fn a_file_gives_what_its_server_reads_and_the_defaults_of_the_rest() {
        let mariadb = "[client]\nport = 1\n[mysqld]\ninnodb-buffer-pool-size=1G # half\nskip-name-resolve\n\
                       sync_binlog = 1\nlog_bin = /var/log/mysql/bin.log\n!includedir /etc/mysql/conf.d\n\
                       tmpdir=/fast\nmax_connections=5\nplugin_dir=/plugins\n";
        let found = ServerConfiguration::from_text("my.cnf".into(), mariadb).unwrap();
        assert_eq!(found.rules.engine, "mariadb:innodb");
        assert_eq!(found.unread, ["!includedir /etc/mysql/conf.d"]);
        let twin = found.find_twin(find_level("mariadb:innodb").unwrap());
        let value = |name: &str| twin.settings.iter().find(|it| it.0 == name).map(|it| &*it.1);
        for (name, expected) in [
            ("innodb_buffer_pool_size", Some("1G")),
            ("innodb_flush_log_at_trx_commit", Some("1")),
            ("log_bin", Some("ON")),
            ("sync_binlog", Some("1")),
            ("max_connections", None),
            ("port", None),
            ("tmpdir", None),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
        assert_eq!(twin.left_out, ["plugin_dir"]);

        let postgres = "shared_buffers = 512MB\nSynchronous_Commit off # fast\nlog_line_prefix = '%m # '\n\
                        shared_preload_libraries = 'pg_stat_statements'\ninclude 'more.conf'\n";
        let found = ServerConfiguration::from_text("postgresql.conf".into(), postgres).unwrap();
        let twin = found.find_twin(find_level("postgres").unwrap());
        let value = |name: &str| twin.settings.iter().find(|it| it.0 == name).map(|it| &*it.1);
        assert_eq!(value("synchronous_commit"), Some("off"));
        assert_eq!(
            value("wal_level"),
            Some("replica"),
            "the default, which bakeoff would not take"
        );
        assert_eq!(value("log_line_prefix"), None);
        assert_eq!(twin.left_out, ["shared_preload_libraries"]);
    }

    #[test]
    fn a_line_that_is_no_setting_is_told_with_its_number() {
        for (text, said) in [
            ("[mysqld]\nkey_buffer_size = 1\n<html>\n", "c:3: no setting"),
            ("work_mem = '4MB\n", "c:1: a quote is not closed"),
            ("work_mem\n", "c:1: it has no value"),
            ("# nothing\n", "sets nothing"),
            ("[client]\nport=1\n", "sets nothing"),
        ] {
            let told = ServerConfiguration::from_text("c".into(), text).err().unwrap();
            assert!(told.contains(said), "{told}");
        }
    }
}
