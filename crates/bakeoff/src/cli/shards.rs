//! The flags of a plan that several machines share.

use std::path::PathBuf;
use std::str::FromStr;

use bakeoff_experiment::Shard;
use clap::Args;

/// How `bakeoff run` takes a part of a plan.
#[derive(Clone, Debug, Args)]
pub struct Shards {
    /// Run a part of the plan, such as 2/8, the second of eight; auto takes both numbers from Slurm or
    /// Kubernetes. `bakeoff merge` makes one run of all parts
    #[arg(
        long,
        value_name = "I/N|auto",
        help_heading = "Several machines",
        allow_hyphen_values = true
    )]
    pub shard: Option<Which>,
    /// Run the part although another one runs on this machine: they disturb each other
    #[arg(long, help_heading = "Several machines")]
    pub same_machine: bool,
}

/// `bakeoff merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// The folder of the merged run: a new one, or that of an earlier merge, which gets what it lacks
    pub out: PathBuf,
    /// The folders of the shards, which are only read
    #[arg(required = true, value_name = "SHARD")]
    pub shards: Vec<PathBuf>,
}

/// Which part of a plan is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that the scheduler says.
    Auto,
    /// This one.
    This(Shard),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => text.parse().map(Self::This),
        }
    }
}
