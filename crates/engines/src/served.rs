//! Engines in private servers: which installation serves, and which settings a level gives it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::servers::{Launch, PrivateServer, ServerProgram, SettingStanding};
use crate::{DEFAULT, Declared};

use crate::fair::UserSettings;
use crate::options::{EngineOption, EngineOptions};
use crate::{Durability, Error, OpenTerms, Result, Setting, fair};

#[cfg(test)]
pub(crate) mod tests;

pub const PATH: EngineOption = EngineOption {
    factor: &Declared {
        name: "path",
        summary: "the folder of another installation of the server, as /opt/pg17: its programs are \
                  looked for there and in its bin, and nowhere else",
        syntax: "FOLDER",
        default: DEFAULT,
        canonical: &parse_folder,
    },
    trust: Some("has bakeoff run the programs in a folder"),
};

/// The user of a private server that sessions are: it reads and changes rows, and may do nothing else.
/// Schemas, loads and checks are the administrator's.
pub const CLIENT: &str = "bakeoff_client";

/// A private server that takes no connection may be about to end: wait so long for that.
pub const ENDING: Duration = Duration::from_secs(1);

fn parse_folder(text: &str) -> std::result::Result<String, String> {
    let path = Path::new(text);
    if path.is_absolute() {
        // Without `.` and double slashes.
        return Ok(path.components().collect::<PathBuf>().display().to_string());
    }
    Err(format!(
        "`{text}` is not the whole path of a folder\nwrite it from the root on, as /opt/server"
    ))
}

pub struct KeptConnection<C>(Mutex<Option<C>>);

impl<C> KeptConnection<C> {
    pub const fn new(connection: C) -> Self {
        Self(Mutex::new(Some(connection)))
    }

    /// If the question fails, it is asked once more on a new connection.
    pub fn ask<T>(
        &self,
        connect: impl FnOnce() -> Result<C>,
        question: impl Fn(&mut C) -> Result<T>,
    ) -> Result<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &mut *kept
            && let Ok(answer) = question(connection)
        {
            return Ok(answer);
        }
        *kept = None;
        let mut connection = connect()?;
        let answer = question(&mut connection)?;
        *kept = Some(connection);
        Ok(answer)
    }
}

/// A private server that runs, and the folder of its data.
pub struct ServedData {
    pub server: PrivateServer,
    pub folder: PathBuf,
}

impl ServedData {
    pub fn new(server: PrivateServer, directory: &Path) -> Self {
        Self { server, folder: directory.join("data") }
    }

    /// The error of a failed connection, if the server's end is the reason.
    pub fn find_end(&self, failure: impl std::fmt::Display) -> Option<Error> {
        let what = || {
            let log = self.server.log();
            format!("the server has ended ({failure}); the end of its log:\n{log}")
        };
        self.server.ends_within(ENDING).then(|| Error::from_engine(what()))
    }
}

pub struct EngineServer {
    pub name: &'static str,
    program: &'static ServerProgram,
    own: Vec<(String, String)>,
    /// Whether some of them are given by their own names, not by declared options.
    set_by_name: bool,
}

impl EngineServer {
    pub const fn from_program(name: &'static str, program: &'static ServerProgram) -> Self {
        Self { name, program, own: Vec::new(), set_by_name: false }
    }

    /// The server with a level's options. `stands_for` maps an option to settings; an option
    /// without any is a setting by its own name.
    pub fn with_options(
        &self,
        name: &'static str,
        options: &EngineOptions,
        stands_for: fn(&str, &str) -> Vec<(String, String)>,
    ) -> std::result::Result<Self, String> {
        let mut served = Self::from_program(name, self.program);
        for (option, value) in options {
            if option == PATH.factor.name {
                let program = ServerProgram::in_folder(self.program.kind(), value.into());
                served.program = Box::leak(Box::new(program));
                continue;
            }
            let mut settings = stands_for(option, value);
            if settings.is_empty() {
                served.set_by_name = true;
                settings.push((option.clone(), value.clone()));
            }
            for (setting, value) in settings {
                if served.own.iter().any(|(other, _)| *other == setting) {
                    return Err(format!("two options of `{name}` set `{setting}`\nleave one out"));
                }
                served.own.push((setting, value));
            }
        }
        Ok(served)
    }

    /// Whether no setting was given by its name: only then the server's needs are known.
    pub fn is_usual(&self) -> bool {
        !self.set_by_name
    }

    pub fn find_program(&self) -> std::result::Result<&crate::servers::InstalledServer, String> {
        self.program.find_installed().map_err(|error| error.to_string())
    }

    pub fn try_settings(
        &self,
        users: &[(String, String)],
        fair: impl FnOnce(&OpenTerms) -> Vec<Setting>,
    ) -> std::result::Result<(), String> {
        if self.own.is_empty() && users.is_empty() {
            return Ok(());
        }
        let terms = OpenTerms { settings: users.to_vec(), ..OpenTerms::new(Durability::Strict) };
        let settings = self.replace_settings(fair(&terms), &terms).into_iter();
        let settings: Vec<_> = settings.map(|setting| (setting.name, setting.value)).collect();
        self.find_program()?.try_settings(&settings).map_err(|error| error.to_string())
    }

    pub fn version(&self) -> String {
        self.find_program().map_or("not installed".into(), |found| found.version.clone())
    }

    pub fn standing(&self, name: &str, value: &str) -> SettingStanding {
        self.program.kind().review().find_standing(name, value)
    }

    /// Refuses settings of the user, by level or terms, that undo the terms' durability level.
    /// `kept` looks for what else undoes it.
    pub fn check_user_settings(
        &self,
        terms: &OpenTerms,
        fair: &[Setting],
        kept: impl FnOnce(Durability, &UserSettings<'_>) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let merged = self.merge_settings(terms);
        let own = UserSettings::new(&merged, self.program.kind().review());
        fair::keep_level(fair, &own)?;
        kept(terms.durability, &own)
    }

    /// What the fair settings promise, without the user's and with them. `promise` reads settings.
    pub fn find_promises(
        &self,
        terms: &OpenTerms,
        fair: Vec<Setting>,
        promise: impl Fn(&UserSettings<'_>) -> Option<Durability>,
    ) -> [Option<Durability>; 2] {
        let review = self.program.kind().review();
        let mut all: Vec<_> = fair.into_iter().map(|it| (it.name, it.value)).collect();
        let own = promise(&UserSettings::new(&all, review));
        all.extend(self.merge_settings(terms));
        [own, promise(&UserSettings::new(&all, review))]
    }

    /// The fair settings, replaced by the user's: those of the terms, then those of the level.
    pub fn replace_settings(&self, fair: Vec<Setting>, terms: &OpenTerms) -> Vec<Setting> {
        fair::with_overrides(fair, &self.merge_settings(terms))
    }

    fn merge_settings(&self, terms: &OpenTerms) -> Vec<(String, String)> {
        let own = |name: &String| self.own.iter().any(|(own, _)| own == name);
        let others = terms.settings.iter().filter(|(name, _)| !own(name));
        others.chain(&self.own).cloned().collect()
    }

    pub fn start_server(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        fair: Vec<Setting>,
    ) -> Result<PrivateServer> {
        let settings = self.replace_settings(fair, terms).into_iter();
        let launch = Launch {
            directory: directory.into(),
            runtime: terms.runtime.clone(),
            settings: settings.map(|setting| (setting.name, setting.value)).collect(),
            groups: terms.groups.clone(),
        };
        PrivateServer::initialise(self.program, &launch).map_err(Error::from_engine)?;
        PrivateServer::start(self.program, &launch).map_err(Error::from_engine)
    }
}
