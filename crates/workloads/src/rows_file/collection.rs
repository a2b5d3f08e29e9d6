//! Collections of text that a machine may have installed.

use std::path::Path;

/// Texts in a Debian package, which `rows_from` names.
#[derive(Debug)]
pub struct Collection {
    /// The name in files and flags.
    pub name: &'static str,
    /// Where the package installs it.
    pub path: &'static str,
    /// The Debian package.
    pub package: &'static str,
}

/// The first that is installed is the default source of rows.
pub static COLLECTIONS: [Collection; 1] =
    [Collection { name: "gcide", path: "/usr/share/dictd/gcide.dict.dz", package: "dict-gcide" }];

impl Collection {
    /// The collection of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        COLLECTIONS.iter().find(|it| it.name == name)
    }

    /// Whether this machine has it.
    pub fn is_installed(&self) -> bool {
        Path::new(self.path).is_file()
    }

    /// The command that installs it.
    pub fn install_command(&self) -> String {
        format!("apt-get install {}", self.package)
    }
}
