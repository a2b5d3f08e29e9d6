//! The lab's own factors, each with a line in [`Factor::OWN`]: those here are described and no more; one
//! whose levels are read has a file.

use bakeoff_engines::{AS_IS, Durability};
use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::message::one_of;

pub(crate) mod clients;
mod cpus;
mod memory;
mod neighbours;
mod placement;
pub(crate) mod rate;
mod state;

pub use cpus::Cpus;
pub use memory::MemoryLimit;
pub use neighbours::NeighbourLoad;
pub use placement::ThreadPlacement;
pub use rate::Rate;
pub use state::EngineState;

impl Factor {
    pub const ENGINE: Self = Self::Own(&LabFactor {
        name: OwnFactor::Engine.as_str(),
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
    });

    pub const DURABILITY: Self = Self::Own(&LabFactor {
        name: OwnFactor::Durability.as_str(),
        summary: "what a commit promises",
        syntax: "none, relaxed or strict; as-is for a server by URL",
        help: "none, relaxed, strict: what a power cut may take; as-is: what a server by URL promises, which is its \
               default",
        default: Some("strict"),
        valid: Valid::Text(|text| {
            let [none, relaxed, strict] = Durability::ALL.map(Durability::name);
            one_of("durability", text, &[none, relaxed, strict, AS_IS])
        }),
        bare: true,
    });

    pub const DISK: Self = Self::Own(&LabFactor {
        name: OwnFactor::Disk.as_str(),
        summary: "the device under the data",
        syntax: "host, a model (see `bakeoff list disks`), like:PATH for a model of the disk at PATH, or a name \
                 under [disks]",
        help: "host, a model (see `bakeoff list disks`), or like:PATH for a model of the disk at PATH",
        default: Some("host"),
        valid: Valid::Disks,
        bare: true,
    });

    pub const SCALE: Self = Self::Own(&LabFactor {
        name: OwnFactor::Scale.as_str(),
        summary: "how much data there is",
        syntax: "a scale of the workload (see `bakeoff list workloads`)",
        help: "The size of the data (see `bakeoff list workloads`)",
        default: None,
        valid: Valid::Scales,
        bare: true,
    });
}

fn parse_digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
