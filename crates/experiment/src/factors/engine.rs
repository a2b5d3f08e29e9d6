//! The factor `engine`.

use crate::factor::{Factor, Own, Valid};

impl Factor {
    /// What stores the data.
    pub const ENGINE: Self = Self::Own(&ENGINE);
}

static ENGINE: Own = Own {
    name: "engine",
    summary: "what stores the data",
    syntax: "an engine's name, which options may follow, as NAME/option=value (see `bakeoff list \
             engines`), or a database's URL: mysql://… or postgres://…",
    help: "Engines, separated by commas (see `bakeoff list engines`), with options as \
           NAME/option=value, or URLs of databases: mysql://…, \
           postgres://…; everybody on this machine can read a command line while it runs, so give a \
           password in the environment or a file instead (docs/engines.md)",
    default: None,
    valid: Valid::Engines,
    bare: true,
};
