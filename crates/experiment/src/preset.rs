//! Experiments that are known by their names.

/// An experiment that is known by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

/// The experiments that are built in, in the order in which they are listed.
pub fn presets() -> &'static [Preset] {
    &[
        Preset { name: "redmine", toml: include_str!("../../../experiments/redmine.toml") },
        Preset {
            name: "redmine-sweep",
            toml: include_str!("../../../experiments/redmine-sweep.toml"),
        },
        Preset {
            name: "redmine-steady",
            toml: include_str!("../../../experiments/redmine-steady.toml"),
        },
        Preset { name: "text-oltp", toml: include_str!("../../../experiments/text-oltp.toml") },
        Preset { name: "power-cut", toml: include_str!("../../../experiments/power-cut.toml") },
        Preset { name: "fileio", toml: include_str!("../../../experiments/fileio.toml") },
    ]
}
