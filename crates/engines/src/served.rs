//! Engines in private servers: which installation serves, and which settings a level gives it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bakeoff_factor::{DEFAULT, Declared};
use bakeoff_servers::{Launch, PrivateServer, ServerProgram, SettingStanding};

use crate::fair::UserSettings;
use crate::options::{EngineOption, EngineOptions};
use crate::{Durability, Error, OpenTerms, Result, Setting, fair};

/// The option that names another installation of a server.
pub const PATH: EngineOption = EngineOption {
    factor: &Declared {
        name: "path",
        summary: "the folder of another installation of the server, as /opt/pg17: its programs are \
                  looked for there and in its bin, and nowhere else",
        syntax: "FOLDER",
        default: DEFAULT,
        canonical: folder,
    },
    trust: Some("has bakeoff run the programs in a folder"),
};

/// How long a private server that takes no connection may take to end, if that is why.
pub const ENDING: Duration = Duration::from_secs(1);

/// An absolute path, always written alike.
fn folder(text: &str) -> std::result::Result<String, String> {
    let path = Path::new(text);
    if path.is_absolute() {
        // Without what says nothing in it.
        return Ok(path.components().collect::<PathBuf>().display().to_string());
    }
    Err(format!(
        "`{text}` is not the whole path of a folder\nwrite it from the root on, as /opt/server"
    ))
}

/// A connection that is kept for a question that is asked again and again.
pub struct KeptConnection<C>(Mutex<Option<C>>);

impl<C> KeptConnection<C> {
    /// Holds this connection.
    pub const fn new(connection: C) -> Self {
        Self(Mutex::new(Some(connection)))
    }

    /// What the question is answered. A connection on which it fails is replaced, and it is asked once
    /// more.
    ///
    /// # Errors
    /// Those of connecting; the question's own.
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

/// The server of an engine, as a level has it.
pub struct EngineServer {
    /// The level.
    pub name: &'static str,
    program: &'static ServerProgram,
    /// The settings that its options set, by name.
    own: Vec<(String, String)>,
    /// Whether some of them are settings by their own names, rather than what declared options stand for.
    set_by_name: bool,
}

impl EngineServer {
    /// The server that is found where one is usually put, with nothing of a user's own.
    pub const fn usual(name: &'static str, program: &'static ServerProgram) -> Self {
        Self { name, program, own: Vec::new(), set_by_name: false }
    }

    /// The same with options, as the level of that name has it. `stands_for` are the settings that an
    /// option of the engine's own stands for; one that stands for none is a setting by its name.
    ///
    /// # Errors
    /// Two options that set the same.
    pub fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
        stands_for: fn(&str, &str) -> Vec<(String, String)>,
    ) -> std::result::Result<Self, String> {
        let mut served = Self::usual(name, self.program);
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

    /// Whether no setting was given by its name: what the server needs is known then.
    pub fn is_usual(&self) -> bool {
        !self.set_by_name
    }

    /// The server's program, once it was found.
    ///
    /// # Errors
    /// What is missing, and what brings it.
    pub fn program(&self) -> std::result::Result<&bakeoff_servers::InstalledServer, String> {
        self.program.find().map_err(|error| error.to_string())
    }

    /// Has the installed server read the settings of a user, if there are some, among the fair ones.
    ///
    /// # Errors
    /// What is missing; which setting it does not know, or does not take so.
    pub fn try_settings(
        &self,
        users: &[(String, String)],
        fair: impl FnOnce(&OpenTerms) -> Vec<Setting>,
    ) -> std::result::Result<(), String> {
        if self.own.is_empty() && users.is_empty() {
            return Ok(());
        }
        let terms = OpenTerms { settings: users.to_vec(), ..OpenTerms::new(Durability::Strict) };
        let settings = self.settings(fair(&terms), &terms).into_iter();
        let settings: Vec<_> = settings.map(|setting| (setting.name, setting.value)).collect();
        self.program()?.try_settings(&settings).map_err(|error| error.to_string())
    }

    /// The version of its installation.
    pub fn version(&self) -> String {
        self.program().map_or("not installed".into(), |found| found.version.clone())
    }

    /// Who may have it use a setting.
    pub fn standing(&self, name: &str, value: &str) -> SettingStanding {
        self.program.kind().review().standing(name, value)
    }

    /// Whether the user's settings, by the level or by the terms, leave the terms' level of durability as
    /// these fair ones have it. `kept` looks for what else undoes that level.
    ///
    /// # Errors
    /// Which setting does not.
    pub fn keeps(
        &self,
        terms: &OpenTerms,
        fair: &[Setting],
        kept: impl FnOnce(Durability, &UserSettings<'_>) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let merged = self.merged(terms);
        let own = UserSettings::new(&merged, self.program.kind().review());
        fair::keep_level(fair, &own)?;
        kept(terms.durability, &own)
    }

    /// These fair settings, but where the user has set one: by the terms, or by the level, which comes
    /// before the terms.
    pub fn settings(&self, fair: Vec<Setting>, terms: &OpenTerms) -> Vec<Setting> {
        fair::with_overrides(fair, &self.merged(terms))
    }

    fn merged(&self, terms: &OpenTerms) -> Vec<(String, String)> {
        let own = |name: &String| self.own.iter().any(|(own, _)| own == name);
        let others = terms.settings.iter().filter(|(name, _)| !own(name));
        others.chain(&self.own).cloned().collect()
    }

    /// Starts a server with these fair settings, and the user's own in their place, on a new data
    /// folder if there is none.
    ///
    /// # Errors
    /// [`Error::Usage`] for a setting that would undo the level of durability; the server's.
    pub fn start(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        fair: Vec<Setting>,
    ) -> Result<PrivateServer> {
        self.keeps(terms, &fair, |_, _| Ok(())).map_err(Error::Usage)?;
        let settings = self.settings(fair, terms).into_iter();
        let launch = Launch {
            directory: directory.into(),
            runtime: terms.runtime.clone(),
            settings: settings.map(|setting| (setting.name, setting.value)).collect(),
            groups: terms.groups.clone(),
        };
        PrivateServer::initialise(self.program, &launch).map_err(Error::engine)?;
        PrivateServer::start(self.program, &launch).map_err(Error::engine)
    }
}
