use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub system: String,
    pub kernel: String,
    pub processor: String,
    pub processors: u32,
    pub memory_bytes: u64,
    /// The file system of the run folder, or of `--path`.
    pub file_system: String,
    /// Or the source of the mount, where no block device is the file system's own.
    pub device: String,
    /// The kernel's build. From here on `None` if the system does not tell, and in older records.
    #[serde(default)]
    pub kernel_version: Option<String>,
    /// Several if processors differ.
    #[serde(default)]
    pub governor: Option<String>,
    #[serde(default)]
    pub smt: Option<bool>,
    #[serde(default)]
    pub huge_pages: Option<String>,
    #[serde(default)]
    pub mount_options: Option<String>,
    #[serde(default)]
    pub hardware: Option<String>,
    /// Hypervisor and container, as far as they show; `none seen` for neither.
    #[serde(default)]
    pub virtualisation: Option<String>,
}

/// File systems without a disk. Sources: Linux, Documentation/filesystems/tmpfs.rst and
/// ramfs-rootfs-initramfs.rst.
const IN_MEMORY: [&str; 2] = ["ramfs", "tmpfs"];

/// Major 0: file systems without a block device of their own. Source: Linux,
/// Documentation/admin-guide/devices.txt.
const UNNAMED: &str = "0:";

impl Machine {
    pub fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.file_system.as_str())
    }

    /// Whether both are one machine with the data on one disk, as far as their facts tell.
    pub fn has_hardware_of(&self, other: &Self) -> bool {
        self.has_processors_of(other) && self.has_disk_of(other)
    }

    pub fn has_processors_of(&self, other: &Self) -> bool {
        (&self.processor, self.processors) == (&other.processor, other.processors)
    }

    /// Older records have a number where the kernel gives another at each mount.
    pub fn has_disk_of(&self, other: &Self) -> bool {
        let is_unknown = |it: &Self| it.device.starts_with(UNNAMED);
        let is_one = self.device == other.device || is_unknown(self) || is_unknown(other);
        is_one && self.file_system == other.file_system
    }

    /// Names and values of the system's facts beyond processors, memory and disk.
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

/// Identifies one of several machines of the same kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostIdentity {
    /// In its network; empty if unknown.
    pub name: String,
    /// The kernel's boot ID, the same in all containers of a machine; empty if unknown.
    pub boot: String,
}
