//! What is recorded of a machine.

use serde::{Deserialize, Serialize};

/// The machine that the run was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system's name and version.
    pub system: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many processors this process may use.
    pub processors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The type of the file system under the run folder, or under `--path`.
    pub file_system: String,
    /// The device under the run folder, or under `--path`.
    pub device: String,
}

/// File systems whose files have no disk. Sources: Linux, Documentation/filesystems/tmpfs.rst and
/// ramfs-rootfs-initramfs.rst.
const IN_MEMORY: [&str; 2] = ["ramfs", "tmpfs"];

impl Machine {
    /// Whether what lies under the run folder, or under `--path`, lies in memory.
    pub fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.file_system.as_str())
    }
}

/// Tells machines of one kind apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Host {
    /// Its name in its network; empty where the system does not tell.
    pub name: String,
    /// Which start of its kernel it is: the same in all containers of a machine; empty where the system
    /// does not tell.
    pub boot: String,
}
