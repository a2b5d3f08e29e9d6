//! The keys of an experiment's file that are no factors.

/// The keys that are not factors.
pub(crate) const KEYS: [&str; 19] = [
    "name",
    "title",
    "workload",
    "text",
    "compare",
    "seconds",
    "repetitions",
    "seed",
    "noise_floor",
    "priced",
    "planner",
    "max_repetitions",
    "max_time",
    "cuts",
    "max_images",
    "keep",
    "file_system",
    "cut_recovery",
    "cut_number",
];
/// The table of what makes a run short.
pub(crate) const QUICK: &str = "quick";
/// The table of the devices of one's own.
pub(crate) const DISKS: &str = "disks";
/// The table of the settings of servers.
pub(crate) const SETTINGS: &str = "settings";

/// Whether the name is a key that is not a factor.
pub(crate) fn is_key(name: &str) -> bool {
    KEYS.contains(&name) || [QUICK, DISKS, SETTINGS].contains(&name)
}
