//! `[server]`: the commands of a server that the application brings.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bakeoff_engines::Durability;
use bakeoff_engines::own_server::{OwnServerCommands, OwnServerLevel};
use bakeoff_engines::servers::Signal;
use toml::Spanned;
use toml::de::DeValue;

use super::ConfigurationReader;
use crate::SourcePlace;

const START_PERIOD_S: u64 = 10;
const GRACE_S: u64 = 10;
/// The user where bakeoff is root and nothing else is said.
const USER: &str = "nobody";
const KEYS: &str =
    "name, start, test, start_period, stop, grace, version, user, [server.durability]";
const SIGNALS: [(&str, Signal); 4] =
    [("TERM", Signal::TERM), ("INT", Signal::INT), ("QUIT", Signal::QUIT), ("HUP", Signal::HUP)];

/// The table, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTable {
    pub place: SourcePlace,
    pub name: Option<String>,
    pub start: Vec<String>,
    pub test: Option<Vec<String>>,
    pub start_period_s: u64,
    pub stop: Signal,
    pub grace_s: u64,
    pub version: Option<Vec<String>>,
    pub user: String,
    pub levels: BTreeMap<Durability, OwnServerLevel>,
}

impl ServerTable {
    /// The engine's name: a program's where none is given.
    pub fn find_name(&self) -> String {
        let program = self.start.first().map_or("", String::as_str);
        let program = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        self.name.clone().unwrap_or_else(|| program.into_owned())
    }

    pub fn to_commands(&self, folder: &Path) -> OwnServerCommands {
        let version = vec![self.start[0].clone(), "--version".into()];
        OwnServerCommands {
            name: self.find_name(),
            folder: folder.to_owned(),
            start: self.start.clone(),
            test: self.test.clone(),
            start_period: Duration::from_secs(self.start_period_s),
            stop: self.stop,
            grace: Duration::from_secs(self.grace_s),
            version: self.version.clone().unwrap_or(version),
            user: self.user.clone(),
            levels: self.levels.clone(),
        }
    }
}

impl ConfigurationReader<'_> {
    pub(super) fn read_server(&mut self, start: usize, value: &Spanned<DeValue<'_>>) {
        let mut server = ServerTable {
            place: self.place_at(start),
            name: None,
            start: Vec::new(),
            test: None,
            start_period_s: START_PERIOD_S,
            stop: Signal::TERM,
            grace_s: GRACE_S,
            version: None,
            user: USER.into(),
            levels: BTreeMap::new(),
        };
        for (key, value) in self.tables_in(value, "[server] and `start = [\"PROGRAM\"]` below it") {
            match key.get_ref().as_ref() {
                "name" => server.name = self.read_text(value).map(|it| it.text),
                "start" => server.start = self.read_command(value),
                "test" => server.test = Some(self.read_command(value)),
                "version" => server.version = Some(self.read_command(value)),
                "start_period" => server.start_period_s = self.read_seconds(value),
                "grace" => server.grace_s = self.read_seconds(value),
                "stop" => server.stop = self.read_signal(value),
                "user" => {
                    server.user = self.read_text(value).map_or(USER.into(), |it| it.text);
                }
                "durability" => server.levels = self.read_levels(value),
                name => self.refuse(
                    key.span().start,
                    format!("`{name}` is no key of a server; it has {KEYS}"),
                ),
            }
        }
        if server.start.is_empty() {
            self.refuse(start, "has no start: write `start = [\"PROGRAM\", \"ARGUMENT\"]`");
        }
        let name = server.find_name();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !server.start.is_empty() && (name.is_empty() || !name.chars().all(is_name)) {
            self.refuse(
                start,
                format!("`{name}` is no name of an engine: write `name = \"redis\"`"),
            );
        }
        if server.levels.is_empty() {
            self.refuse(
                start,
                "gives no level: write [server.durability] and `strict = [\"ARGUMENT\"]` below it",
            );
        }
        self.found.server = Some(server);
    }

    fn read_signal(&mut self, value: &Spanned<DeValue<'_>>) -> Signal {
        let name = self.read_text(value).map(|it| it.text).unwrap_or_default();
        let found = SIGNALS.iter().find(|(known, _)| *known == name);
        found.map_or_else(
            || {
                let known = SIGNALS.map(|(name, _)| name).join(", ");
                self.refuse(value.span().start, format!("is no signal that stops one: {known}"));
                Signal::TERM
            },
            |(_, signal)| *signal,
        )
    }

    fn read_levels(
        &mut self,
        value: &Spanned<DeValue<'_>>,
    ) -> BTreeMap<Durability, OwnServerLevel> {
        let mut levels = BTreeMap::new();
        for (key, value) in self.tables_in(value, "[server.durability]") {
            let Some(level) = Durability::from_name(key.get_ref()) else {
                let what = "is no level of durability: strict, relaxed or none";
                self.refuse(key.span().start, format!("`{}` {what}", key.get_ref()));
                continue;
            };
            levels.insert(level, self.read_level(level, value));
        }
        levels
    }

    /// A list of arguments, or a table that says how much the level may lose, too.
    fn read_level(&mut self, level: Durability, value: &Spanned<DeValue<'_>>) -> OwnServerLevel {
        if matches!(value.get_ref(), DeValue::Array(_)) {
            return OwnServerLevel { arguments: self.read_words(value), within: None };
        }
        let mut read = OwnServerLevel::default();
        for (key, value) in self.tables_in(value, "`strict = [\"ARGUMENT\"]`") {
            match key.get_ref().as_ref() {
                "args" => read.arguments = self.read_words(value),
                "within" if level == Durability::Relaxed => {
                    read.within = Some(Duration::from_secs(self.read_seconds(value)));
                }
                name => self.refuse(
                    key.span().start,
                    format!(
                        "`{name}` is no key of {}: it has args{}",
                        level.name(),
                        match level {
                            Durability::Relaxed => " and within",
                            Durability::None | Durability::Strict => "",
                        }
                    ),
                ),
            }
        }
        read
    }

    fn read_words(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let DeValue::Array(items) = value.get_ref() else {
            self.refuse(value.span().start, "is no list of arguments");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.read_text(item)).map(|it| it.text).collect()
    }
}
