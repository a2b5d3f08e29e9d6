//! What may be said of engines: their names, and the URLs of databases that somebody else runs.

use crate::message::{Problem, one_of};

/// The engines that an experiment may name. What they are is known to others.
#[derive(Clone, Debug)]
pub struct Engines {
    engines: Vec<EngineNames>,
    url: fn(&str) -> Result<String, String>,
}

/// What may be said of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineNames {
    /// Its name.
    pub name: String,
    /// Whether an experiment may have settings for it.
    pub takes_settings: bool,
    /// Whether it stores what it is given. One that doesn't has nothing that a power cut could
    /// take, and nothing for clients that read again what they wrote.
    pub stores: bool,
}

impl Engines {
    /// These engines, in the order in which they are listed to a user. `url` brings a database's URL
    /// into its canonical form, which has no password; it says what is wrong in a line, without the
    /// password, and how to mend it in the lines after that.
    pub fn new(engines: Vec<EngineNames>, url: fn(&str) -> Result<String, String>) -> Self {
        Self { engines, url }
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.engines.iter().map(|engine| &*engine.name).collect()
    }

    /// Whether the engine of a level without alias stores what it is given, as a server that
    /// somebody else runs does.
    pub(crate) fn stores(&self, name: &str) -> bool {
        self.engines.iter().all(|engine| engine.name != name || engine.stores)
    }

    /// The canonical form of a level.
    pub(crate) fn canonical(&self, text: &str) -> Result<String, Problem> {
        if !text.contains(":/") {
            return one_of("engine", text, &self.names());
        }
        (self.url)(text).map_err(|message| Problem::in_lines(&message))
    }

    /// Checks that the engine of that name is there and takes settings.
    pub(crate) fn takes_settings(&self, name: &str) -> Result<(), Problem> {
        if self.engines.iter().any(|engine| engine.name == name && engine.takes_settings) {
            return Ok(());
        }
        let takers = self.engines.iter().filter(|engine| engine.takes_settings);
        let takers: Vec<&str> = takers.map(|engine| &*engine.name).collect();
        let valid = format!("engines that take settings: {}", takers.join(", "));
        if name.contains("://") {
            let title = "the settings of a server that somebody else runs are its owner's";
            return Err(Problem::new(title).help("set them on the server").help(valid));
        }
        one_of("engine", name, &self.names())?;
        let title =
            format!("`{name}` takes no settings: it is built in, and set as it is compared");
        Err(Problem::new(title).help("leave the table out").help(valid))
    }
}
