//! Whether a server can be started as it is asked to, and the folders that it needs.

use std::fs;
use std::path::Path;

use crate::account::Account;
use crate::error::{Error, Result};
use crate::launch::{Launch, Places};
use crate::program::Program;
use crate::settings::Standing;

/// The longest path that a socket's address holds, in bytes (`sun_path` is 108 with its end).
const SOCKET_PATH: usize = 107;

impl Launch {
    /// Makes sure that its settings can be given.
    pub(crate) fn check(&self, program: Program) -> Result<()> {
        for (name, value) in &self.settings {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
            let reason = if !is_name || !name.chars().all(is_letter) {
                "write its plain name"
            } else if value.contains(char::is_control) {
                "its value is more than a line of text"
            } else if program.standing(name, value) == Standing::Reserved {
                "bakeoff sets it itself; leave it out"
            } else {
                continue;
            };
            return Err(Error::Setting { program, name: name.clone(), reason });
        }
        Ok(())
    }
}

impl Places {
    /// The places that a launch means.
    pub fn of(program: Program, launch: &Launch) -> Result<Self> {
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(Error::at("find the folder", path));
        let directory = absolute(&launch.directory)?;
        let runtime = match &launch.runtime {
            Some(runtime) => absolute(runtime)?,
            None => directory.join("server"),
        };
        let socket = runtime.join(program.kind().socket());
        let bytes = socket.as_os_str().len();
        if bytes > SOCKET_PATH {
            return Err(Error::SocketPath { program, path: socket, bytes, limit: SOCKET_PATH });
        }
        let temporary = directory.join("tmp");
        if let Some(separator) = program.kind().separator()
            && temporary.to_string_lossy().contains(separator)
        {
            return Err(Error::Separator { program, path: temporary, separator });
        }
        Ok(Self {
            data: directory.join("data"),
            temporary,
            log: runtime.join("log"),
            directory,
            runtime,
            socket,
        })
    }

    /// Makes the folders that are not there, gives them to the server's user, and makes sure that
    /// it can get into them.
    pub fn make(&self, program: Program, account: &Account) -> Result<()> {
        for folder in [&self.directory, &self.temporary, &self.runtime] {
            fs::create_dir_all(folder).map_err(Error::at("make the folder", folder))?;
            account.give(folder)?;
        }
        account.close(&self.runtime)?;
        for folder in [&self.temporary, &self.runtime] {
            if let Some(folder) = account.barrier(folder) {
                let user = account.name().into();
                return Err(Error::Unreachable { program, user, folder });
            }
        }
        Ok(())
    }
}
