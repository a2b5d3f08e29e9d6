//! What may be said of engines: their names, and the URLs of databases that somebody else runs.

use crate::level::one_of;
use crate::message::Problem;

/// The engines that an experiment may name. What they are is known to others.
#[derive(Clone, Debug)]
pub struct Engines {
    names: Vec<String>,
    servers: Vec<String>,
    url: fn(&str) -> Result<String, String>,
}

impl Engines {
    /// Engines of these names, in the order in which they are listed to a user; those in `servers`
    /// take settings. `url` brings a database's URL into its canonical form, which has no
    /// password; it says what is wrong in a line, without the password, and how to mend it in the
    /// lines after that.
    pub fn new(
        names: Vec<String>,
        servers: Vec<String>,
        url: fn(&str) -> Result<String, String>,
    ) -> Self {
        Self { names, servers, url }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The canonical form of a level.
    pub(crate) fn canonical(&self, text: &str) -> Result<String, Problem> {
        if !text.contains("://") {
            return one_of("engine", text, &self.names);
        }
        (self.url)(text).map_err(|message| Problem::in_lines(&message))
    }

    /// Checks that the engine of that name is there and takes settings.
    pub(crate) fn takes_settings(&self, name: &str) -> Result<(), Problem> {
        if self.servers.iter().any(|server| server == name) {
            return Ok(());
        }
        let valid = format!("engines that take settings: {}", self.servers.join(", "));
        if name.contains("://") {
            let title = "the settings of a server that somebody else runs are its owner's";
            return Err(Problem::new(title).help("set them on the server").help(valid));
        }
        one_of("engine", name, &self.names)?;
        let title =
            format!("`{name}` takes no settings: it is built in, and set as it is compared");
        Err(Problem::new(title).help("leave the table out").help(valid))
    }
}
