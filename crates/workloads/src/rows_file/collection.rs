//! The collections of text that a machine may have installed.

use std::path::Path;

/// Texts that a package brings, which rows come from by name.
#[derive(Debug)]
pub struct Collection {
    /// Its name in files and flags.
    pub name: &'static str,
    /// Where the package puts it.
    pub path: &'static str,
    /// Debian's package of it.
    pub package: &'static str,
}

/// All of them; rows come from the first that is installed, unless an experiment says otherwise.
pub static COLLECTIONS: [Collection; 1] =
    [Collection { name: "gcide", path: "/usr/share/dictd/gcide.dict.dz", package: "dict-gcide" }];

impl Collection {
    /// The one of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        COLLECTIONS.iter().find(|it| it.name == name)
    }

    /// Whether this machine has it.
    pub fn is_installed(&self) -> bool {
        Path::new(self.path).is_file()
    }

    /// The command that installs it.
    pub fn install(&self) -> String {
        format!("apt-get install {}", self.package)
    }
}
