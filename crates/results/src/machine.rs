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
    /// Which build of the kernel's release it is. This and what follows is `None` where the system does not
    /// tell, and in records of an older bakeoff.
    #[serde(default)]
    pub kernel_version: Option<String>,
    /// What chooses the processors' frequency; several where processors differ.
    #[serde(default)]
    pub governor: Option<String>,
    /// Whether two threads share a core (SMT).
    #[serde(default)]
    pub smt: Option<bool>,
    /// Who gets transparent huge pages: `always`, `madvise`, `never`.
    #[serde(default)]
    pub huge_pages: Option<String>,
    /// How the file system is mounted.
    #[serde(default)]
    pub mount_options: Option<String>,
    /// The maker's name of the hardware, or the provider's of the virtual machine.
    #[serde(default)]
    pub hardware: Option<String>,
    /// The hypervisor and the container around it, as far as they show; `none seen` where neither does.
    #[serde(default)]
    pub virtualisation: Option<String>,
}

/// File systems whose files have no disk. Sources: Linux, Documentation/filesystems/tmpfs.rst and
/// ramfs-rootfs-initramfs.rst.
const IN_MEMORY: [&str; 2] = ["ramfs", "tmpfs"];

impl Machine {
    /// Whether what lies under the run folder, or under `--path`, lies in memory.
    pub fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.file_system.as_str())
    }

    /// What the system tells beyond processors, memory and disk: what it is, and its value. What it does not
    /// tell is not there.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let smt = self.smt.map(|is_on| if is_on { "on" } else { "off" }.to_owned());
        let all = [
            ("kernel build", self.kernel_version.clone()),
            ("CPU frequency governor", self.governor.clone()),
            ("SMT", smt),
            ("transparent huge pages", self.huge_pages.clone()),
            ("mount options", self.mount_options.clone()),
            ("hardware", self.hardware.clone()),
            ("virtualisation", self.virtualisation.clone()),
        ];
        all.into_iter().filter_map(|(what, value)| Some((what, value?))).collect()
    }
}

/// Tells machines of one kind apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostIdentity {
    /// Its name in its network; empty where the system does not tell.
    pub name: String,
    /// Which start of its kernel it is: the same in all containers of a machine; empty where the system
    /// does not tell.
    pub boot: String,
}
