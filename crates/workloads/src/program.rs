//! A workload whose clients are processes of somebody's own program.

use std::path::PathBuf;

use bakeoff_engines::{Declared, DeclaredLevels};

use crate::Name;

const OUTSIDE: &str = "outside";
const INSIDE: &str = "inside";

/// Whether the processes of an application's own program share the database's memory.
pub static PROGRAMS: Declared = Declared {
    name: "programs",
    summary: "outside or inside the database's limit of memory, for an application's own program; with SQLite always inside",
    syntax: "outside; inside",
    default: OUTSIDE,
    canonical: &|text| match text {
        OUTSIDE | INSIDE => Ok(text.into()),
        _ => Err(format!("`{text}` is no level of `programs`\nvalid: {OUTSIDE}, {INSIDE}")),
    },
};

/// Whether a program's clients join the database's group.
pub fn are_programs_inside(levels: &DeclaredLevels) -> bool {
    levels.level_of(&PROGRAMS) == INSIDE
}

/// How the processes of an application's own program are started. A command is a program and its
/// arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProgram {
    /// The absolute path of its folder, in which it runs.
    pub folder: PathBuf,
    /// What one client runs.
    pub client: Vec<String>,
    /// What fills the tables, once; `None`: the workload's own rows do.
    pub fill: Option<Vec<String>>,
    /// What is asked after a power cut whether acknowledged keys are there; `None`: nothing is.
    pub audit: Option<Vec<String>>,
    /// Whether its clients choose when an operation begins, and tell of it afterwards.
    pub paces_itself: bool,
    /// How many seconds an operation may take before the process counts as hung.
    pub timeout_s: u64,
    /// How many seconds a client may take until it is ready.
    pub start_s: u64,
    /// Names of scales, and the number that each stands for.
    pub scales: Vec<(Name, i64)>,
}

impl ClientProgram {
    /// The number of a scale.
    pub fn find_scale(&self, scale: &str) -> i64 {
        self.scales.iter().find(|(name, _)| name == scale).map_or(1, |(_, number)| *number)
    }
}
